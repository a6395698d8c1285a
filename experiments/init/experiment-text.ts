import { stringify } from 'yaml';
import type { FoundEncoder } from './found-encoders.ts';
import type { PartCounts } from './found-threads.ts';
import { type Goal, goals } from './goals.ts';

export interface InitChoices {
  readonly name: string;
  readonly threads: string;
  readonly task: string;
  /** A detector file; null for a local detector, trained on a part of the threads. */
  readonly detector: string | null;
  /** A sentence encoder for the local detector; null for n-grams alone. */
  readonly encoder: FoundEncoder['config'] | null;
  /** Whether the local detector reads times. */
  readonly timing: boolean;
  readonly goal: Goal;
  readonly parts: PartCounts;
}

/** A commented experiment file, or a sweep file for the goal that is one. */
export function experimentText(choices: InitChoices): string {
  const { name, goal } = choices;
  const head = [
    `# Made by \`earshot init\` for ${goal}: ${goals[goal]}.`,
    '# `earshot options stop-agent` says what else may stand here; what is left out takes its default.',
  ];
  if (goal !== 'ratio-sweep')
    return [...head, `name: ${scalar(name)}`, ...shared(choices), ...agents[goal], ''].join('\n');
  return [
    ...head,
    'kind: sweep',
    `name: ${scalar(name)}`,
    'experiment:',
    ...shared(choices).map((line) => (line === '' ? line : `  ${line}`)),
    'seeds: [1, 2, 3]',
    '# α is the weight of the conservative expert, β of the early-action one, γ of the misleading one.',
    'space:',
    '  agent.imitation.alpha: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]',
    'derived:',
    '  agent.imitation.beta: (1 - alpha) / 2',
    '  agent.imitation.gamma: (1 - alpha) / 2',
    'constraints: [alpha + beta > gamma]',
    '',
  ].join('\n');
}

function shared({ threads, task, detector, encoder, timing, goal, parts }: InitChoices): string[] {
  return [
    ...(goal === 'ratio-sweep'
      ? []
      : ['# Each seed draws its own split and its own agent; the report has means over them.', 'seeds: [1, 2, 3]']),
    `data: { threads: ${scalar(threads)} }`,
    '# Which label is decided: rumor or veracity.',
    `task: ${task}`,
    '# No thread is used twice. Settings are chosen on the development part; the test takes the rest.',
    'split:',
    ...(detector === null ? [`  detector: ${parts.detector}  # labelled threads that train the detector`] : []),
    `  demonstrations: ${parts.demonstrations}  # labelled threads that the agent learns from`,
    `  environment: ${parts.environment}  # further threads that it meets; they need no labels`,
    `  development: ${parts.development}`,
    '  test: rest',
    ...(detector === null
      ? localDetector({ encoder, timing })
      : [
          '# Asked after 1, 2, 3, 5, 8, … posts only, and every answer is kept.',
          'detector:',
          `  file: ${scalar(detector)}`,
          '  schedule: { name: geometric, factor: 1.5 }',
        ]),
  ];
}

function localDetector({ encoder, timing }: Pick<InitChoices, 'encoder' | 'timing'>): string[] {
  const options = [
    ...(timing
      ? ['  timing: true  # reads how fast the replies come, too: give exported policies times beside texts']
      : []),
    ...(encoder === null
      ? []
      : [`  encoder: ${inline(encoder)}  # read beside n-grams; exported policies cannot carry it`]),
  ];
  return options.length === 0 ? [] : ['detector:', ...options];
}

/** States and agents as experiments/recipes/asking.yaml has them, where they were measured. */
const agents: Readonly<Record<Exclude<Goal, 'ratio-sweep'>, readonly string[]>> = {
  'fewer-calls': [
    '# The agent sees what a student of the judgements is sure of, and how many posts there were.',
    'state: { posts: none, student: true }',
    'agent:',
    '  algorithm: exact-return',
    '  iterations: 100',
    '  hidden: 8',
    '  # What waiting for a whole thread costs, where a right answer is worth 1: more is earlier.',
    '  task: { learningRate: 0.01, delayCost: 0.2 }',
  ],
  earliest: detectorAware(0.4),
  'best-f1': detectorAware(0.1),
};

function detectorAware(delayCost: number): string[] {
  return [
    '# The agent sees what the detector said after 1, 2, 3, 5, 8, … posts, and decides there whether to go on.',
    'state: { posts: none, observesDetector: true, actsAt: queried-posts, querySchedule: { name: geometric, factor: 1.5 } }',
    'agent:',
    '  algorithm: exact-return',
    '  iterations: 100',
    '  hidden: 8',
    '  # delayCost: what waiting for a whole thread costs, where a right answer is worth 1: more is earlier.',
    '  # pseudo-labelled: the environment’s threads count too, labelled by the detector’s last judgement of each.',
    `  task: { learningRate: 0.01, delayCost: ${delayCost}, environment: pseudo-labelled }`,
  ];
}

function inline(values: FoundEncoder['config']): string {
  const entries = Object.entries(values).map(([key, value]) => `${key}: ${scalar(String(value))}`);
  return `{ ${entries.join(', ')} }`;
}

function scalar(text: string): string {
  return stringify(text).trimEnd();
}
