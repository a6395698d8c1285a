import { stringify } from 'yaml';
import { identityOf, type Task } from '../../src/data/task.ts';
import { present } from '../../src/present.ts';
import type { FoundEncoder } from './found-encoders.ts';
import type { PartCounts } from './found-threads.ts';

export const goals = {
  guarantee: 'few posts, while no more predictions change than you allow; calibration needs no labels',
  'fewer-queries': 'one query of the detector per thread, at the stop: a small student of its judgements decides when',
  earliest: 'soon after the detector can be trusted: it is queried while the agent reads, and waiting is expensive',
  'best-f1': 'as right as reading everything, and earlier: it is queried while the agent reads, and waiting is cheap',
} as const;
export type Goal = keyof typeof goals;

export interface InitChoices {
  readonly name: string;
  readonly threads: string;
  readonly task: Task;
  /** Labels of the task that raise an alert; none where any may be predicted early. */
  readonly alerts: readonly string[];
  /** A detector file; null for a local detector, which is trained on the labelled threads. */
  readonly detector: string | null;
  /** A sentence encoder for the local detector; null for n-grams alone. */
  readonly encoder: FoundEncoder['config'] | null;
  /** Whether the local detector reads times. */
  readonly timing: boolean;
  readonly goal: Goal;
  /** Null for the cross-fitting of a local detector, in which every labelled thread trains and is tested. */
  readonly parts: PartCounts | null;
  /** Largest share of predictions that may change, or of early alerts that may be withdrawn, for the goal of a guarantee. */
  readonly level: number;
}

/** A commented experiment file. */
export function experimentText(choices: InitChoices): string {
  const { name, goal, alerts } = choices;
  const head = [
    alerts.length > 0 && goal !== 'guarantee'
      ? '# Made by `earshot init --alerts`: alerts that are right and come early.'
      : `# Made by \`earshot init\` for ${goal}: ${goals[goal]}.`,
    '# `earshot options stop-agent` says what else may stand here; what is left out takes its default.',
  ];
  return `${[...head, `name: ${scalar(name)}`, ...shared(choices), ...settledAgent(goal, choices)].join('\n')}\n`;
}

function shared({ threads, task, alerts, detector, encoder, timing, goal, parts }: InitChoices): string[] {
  return present([
    `# Each seed draws ${parts === null ? 'other folds' : 'its own split'} and its own agent; the report has means over them.`,
    'seeds: [1, 2, 3]',
    `data: { threads: ${scalar(threads)} }`,
    '# Which label is decided, and its classes in the order of reports.',
    `task: ${taskText(task)}`,
    alerts.length > 0 && '# Policies and rules stop early with these predictions alone, and read on with others.',
    alerts.length > 0 && `alerts: [${alerts.map(scalar).join(', ')}]`,
    ...(parts === null ? crossFitting(goal) : splitInto(parts)),
    detector !== null && '# Asked after 1, 2, 3, 5, 8, … posts only, and every answer is kept.',
    (detector !== null || timing || encoder !== null) && 'detector:',
    detector !== null && `  file: ${scalar(detector)}`,
    detector !== null && '  schedule: { name: geometric, factor: 1.5 }',
    detector === null &&
      timing &&
      '  timing: true  # reads how fast the replies come, too: give exported policies times beside texts',
    detector === null &&
      encoder !== null &&
      `  encoder: ${inline(encoder)}  # read beside n-grams; exported policies cannot carry it`,
  ]);
}

function crossFitting(goal: Goal) {
  return [
    '# Every label trains, and every labelled thread is tested once, by a detector, an agent and a threshold that have not seen it.',
    '# The policy that is exported learned from all of them.',
    'crossFitting:',
    '  folds: 5',
    `  environment: ${goal === 'guarantee' ? 100 : 300}  # unlabelled threads that the agent learns from, at most`,
    goal === 'guarantee' &&
      '  calibration: 2000  # unlabelled threads that calibrate the guarantee, at most; with fewer than 100, labelled ones do',
  ];
}

function splitInto(parts: PartCounts) {
  return [
    `# No thread is used twice. ${parts.development === 0 ? 'The' : 'Settings are chosen on the development part; the'} test takes the rest.`,
    'split:',
    `  demonstrations: ${parts.demonstrations}  # labelled threads that demonstrate when to stop`,
    `  environment: ${parts.environment}  # further threads that the agent learns from; they need no labels`,
    parts.development > 0 && `  development: ${parts.development}`,
    parts.calibration > 0 &&
      `  calibration: ${parts.calibration}  # threads that calibrate the guarantee; they need no labels`,
    '  test: rest',
  ];
}

function taskText(task: Task): string {
  const identity = identityOf(task);
  if (typeof identity === 'string') return identity;
  const classes = task.labels.map(scalar);
  return `{ label: ${scalar(task.name)}, classes: [${classes.join(', ')}] }`;
}

/** The cost of waiting for a whole thread by goal; all of macro-F1 is worth 1. */
const delayCosts: Readonly<Record<Exclude<Goal, 'guarantee'>, number>> = {
  'fewer-queries': 0.2,
  earliest: 0.4,
  'best-f1': 0.1,
};

/** The settled agent (`trainers/stop-agent/settled-pairs.ts`) needs no labels and serves every goal by its threshold. */
function settledAgent(
  goal: Goal,
  { detector, level, alerts, parts }: Pick<InitChoices, 'detector' | 'level' | 'alerts' | 'parts'>,
): string[] {
  const agent = 'agent: { algorithm: settled, hidden: 8, task: { environment: pseudo-labelled } }';
  const guarantee = parts === null ? 'guarantee: null' : '';
  const chosenOn = parts === null ? 'the labelled threads' : 'the development part';
  const score = [
    ...stateFor(goal, detector),
    '# Its score is the probability that the prediction is final. It learns this from judged threads and needs no labels.',
  ];
  if (goal === 'guarantee')
    return [
      ...score,
      agent,
      `# With this confidence, at most this share of ${alerts.length === 0 ? 'predictions would change' : 'early alerts would be withdrawn'} if threads were read to their ends. More is earlier.`,
      `guarantee: { level: ${level}, confidence: 0.9 }`,
    ];
  if (alerts.length > 0)
    return present([
      ...score,
      `# It stops at the threshold with the best F latency of alerts on ${chosenOn} (docs/how-to/alerts.md), or by your own \`costs\`.`,
      '# `earshot calibrate` finds a threshold with a guarantee.',
      agent,
      guarantee,
    ]);
  return present([
    ...score,
    `# It stops at the threshold that is worth most on ${chosenOn}: by macro-F1 − delayCost × the share of posts read, or by`,
    '# your own `costs`. More delayCost is earlier. `earshot calibrate` finds a threshold with a guarantee.',
    'agent:',
    '  algorithm: settled',
    '  hidden: 8',
    `  task: { environment: pseudo-labelled, delayCost: ${delayCosts[goal]} }`,
    guarantee,
  ]);
}

function stateFor(goal: Goal, detector: string | null): string[] {
  if (goal === 'fewer-queries')
    return [
      '# The agent sees what a student of the judgements is sure of, and how many posts there were.',
      'state: { posts: none, student: true }',
    ];
  if (detector === null)
    return [
      '# The agent sees the detector’s prediction after every post; a local detector costs nothing.',
      'state: { posts: none, observesDetector: true }',
    ];
  return [
    '# The agent sees the detector’s prediction after 1, 2, 3, 5, 8, … posts, and decides there whether to go on.',
    'state: { posts: none, observesDetector: true, actsAt: queried-posts, querySchedule: { name: geometric, factor: 1.5 } }',
  ];
}

function inline(values: FoundEncoder['config']): string {
  const entries = Object.entries(values).map(([key, value]) => `${key}: ${scalar(String(value))}`);
  return `{ ${entries.join(', ')} }`;
}

/** In one line, and quoted where a flow map needs it. */
function scalar(text: string): string {
  return stringify([text], { collectionStyle: 'flow', lineWidth: 0 }).trim().slice(1, -1).trim();
}
