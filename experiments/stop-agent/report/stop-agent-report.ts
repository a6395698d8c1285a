import { mean, meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { numbersTable } from '../../report/numbers-table.ts';
import { percent, plusMinus } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { agentName, isLearnt, isShown } from '../decisions.ts';
import { shownMetrics } from '../metrics.ts';
import type { TrialResult } from '../result.ts';
import type { SampledScores } from '../sampled-stops.ts';
import { compareToFront, type Margin, type SystemSummary, shownMargin, summarize } from './aggregate.ts';
import type { Answer } from './answer.ts';
import { detectorTruthMarkdown } from './detector-truth.ts';
import { rankedAgents } from './ranked-agents.ts';

/**
 * The tables of an experiment in Markdown: what was trained in every variant beside the rules, how each agent stands to
 * rules that may ask the detector as often. It opens with the answer that a screen shows.
 */
export function renderReport(options: {
  name: string;
  description: string;
  command: string;
  results: readonly VariantResults<TrialResult>[];
  answer: Answer;
}): string {
  const { name, description, command, results, answer } = options;
  const variants = rankedAgents(results).map(({ variant }) => {
    const { trials } = results.find((own) => own.variant === variant)!;
    return { variant, trials, systems: summarize(trials), front: compareToFront(trials) };
  });
  const several = variants.length > 1;
  const learntRows = variants.flatMap(({ variant, systems }) =>
    systems
      .filter(({ name }) => isLearnt(name))
      .map((system) => {
        const name = several ? `${system.name}: ${variant}` : system.name;
        return systemRow(system.name === agentName ? `**${name}**` : name, system);
      }),
  );
  const rules = variants[0].systems.filter(({ name }) => !isLearnt(name) && isShown(name));
  const [counts] = variants[0].trials;
  const isTest = counts.part === 'test';
  const lines = [
    `# ${name}`,
    '',
    ...detectorTruthMarkdown(answer.detectors),
    ...(answer.shift === null ? [] : [`**${answer.shift}**`, '']),
    ...(answer.detectors.length === 0 ? [] : ['## Agents', '']),
    ...answerLines(answer),
    '## What was run',
    '',
    ...(description.trim() === '' ? [] : [description.trim(), '']),
    `Command: \`${command}\``,
    '',
    `Threads: ${Object.entries(counts.threads)
      .map(([part, count]) => `${part} ${count}`)
      .join(
        ', ',
      )}. Seeds: ${variants[0].trials.map(({ seed }) => seed).join(', ')}. Mean ± standard deviation over seeds.`,
    ...(isTest ? [] : ['', '**Decided: the development part.** Choose settings here, then decide the test part once.']),
    '',
    numbersTable(
      ['system', ...shownMetrics.map(({ title }) => title), 'most common stop'],
      [...learntRows, ...rules.map((system) => systemRow(system.name, system))],
      { texts: ['most common stop'] },
    ),
    '',
    'ER is the share of a thread’s posts seen at the decision; lower is earlier. Calls are those of the detector: at the stop, and',
    'for confidence rules and detector-aware agents at the posts where they query it. The label-aware bound',
    'sees the labels and is out of reach. Rules are those of the',
    `${several ? `splits of the variant ${variants[0].variant}` : 'same splits'}; of ${variants[0].systems.filter(({ name }) => !isLearnt(name)).length} rules ${rules.length} are shown, and all are compared with below.`,
    '',
    '## Against rules that may ask as often',
    '',
    numbersTable(
      [
        'agent',
        'ER',
        'calls a thread',
        'over the best rule of one call',
        'over rules of one call',
        'over rules of as many calls',
        'over rules of any number of calls',
      ],
      variants.map(({ variant, systems, front }) => {
        const { values } = systems.find((system) => system.name === agentName)!;
        return [
          variant,
          ...[values.er, values.callsPerThread].map((value) => value?.mean.toFixed(3) ?? '–'),
          marginCell(front.overBestRule),
          marginCell(front.overOneCall),
          marginCell(front.overEqualCalls),
          marginCell(front.overAnyCalls),
        ];
      }),
    ),
    '',
    'Macro-F1 above that of rules which are as early; but for the first column, above every mixture of them. In brackets 95 %,',
    'bootstrap over seeds and the threads of each. Rules are picked by the scores they are compared on, which favours them.',
    '',
    ...sampledLines(variants),
    '## Demonstrations',
    '',
    numbersTable(
      ['agent', 'conservative', 'early action', 'misleading', 'conservative that stop at the first post'],
      variants.map(({ variant, trials }) => [
        variant,
        ...['conservative', 'earlyAction', 'misleading'].map((expert) =>
          mean(trials.map(({ demonstrations }) => demonstrations[expert])).toFixed(1),
        ),
        percent(mean(trials.map(({ stopsAtFirstPost }) => stopsAtFirstPost.conservative))),
      ]),
    ),
    '',
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** What the same agents would score if they drew their stops; nothing where no run kept its probabilities. */
function sampledLines(variants: readonly { variant: string; trials: readonly TrialResult[] }[]): string[] {
  const rows = variants.flatMap(({ variant, trials }) => {
    const known = trials.flatMap(({ sampled }) => sampled ?? []);
    if (known.length === 0) return [];
    const over = (of: (scores: SampledScores) => number, digits = 3) =>
      plusMinus(meanAndDeviation(known.map(of)), { digits });
    return [
      [variant, over(({ macroF1 }) => macroF1), over(({ er }) => er), over(({ callsPerThread }) => callsPerThread, 1)],
    ];
  });
  if (rows.length === 0) return [];
  return [
    '## If stops were sampled',
    '',
    numbersTable(['agent', 'macro-F1', 'ER', 'calls a thread'], rows),
    '',
    'Agents stop where π(stop) first exceeds one half. Here they stop at every post with probability π(stop), as in training: the expectation over',
    'all draws, which is exact.',
    '',
  ];
}

/** What a page and a screen open with, too. */
function answerLines({
  reading,
  table: [heading, ...rows],
  legend,
  choice,
  verdict,
  promises,
  next,
}: Answer): string[] {
  return [
    ...(reading === null ? [] : [reading, '']),
    `**Verdict:** ${verdict}`,
    '',
    ...promises.flatMap((promise) => [`**Promise:** ${promise}`, '']),
    // Markdown drops the spaces that set a rule under its agent.
    numbersTable(
      heading,
      rows.map(([first, ...cells]) => [first.replace(/^ +/, '– '), ...cells]),
    ),
    '',
    `${legend} ${choice}`,
    '',
    ...(next.length === 0 ? [] : ['Next:', '', '```sh', ...next, '```', '']),
  ];
}

/** A margin with its interval; – where there is no rule to compare with. */
function marginCell(margin: Margin | null): string {
  return margin === null ? '–' : shownMargin(margin, { withDeviation: true });
}

function systemRow(name: string, { values, calls, mostCommonStop }: SystemSummary): string[] {
  return [
    name,
    ...shownMetrics.map((metric) => {
      const value = values[metric.name];
      if (value === null || (metric.isNotForOracles && calls === 'oracle')) return '–';
      // What calls cost hardly varies over seeds; its deviation would only widen the table.
      return plusMinus(metric.isNotForOracles ? { ...value, deviation: null } : value, { digits: metric.decimals });
    }),
    `${mostCommonStop.name} (${percent(mostCommonStop.share)})`,
  ];
}
