import { mean, meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { type Block, described, type ReportDocument, type ReportSection } from '../../report/document.ts';
import { percent, plusMinus } from '../../report/shown-numbers.ts';
import { agentName, isLearnt, isShown } from '../decisions.ts';
import { shownMetrics } from '../metrics.ts';
import type { SampledScores } from '../sampled-stops.ts';
import { type Margin, type SystemSummary, shownMargin } from './aggregate.ts';
import type { Answer } from './answer.ts';
import { detectorTruthSections } from './detector-truth.ts';
import type { RankedAgent } from './ranked-agents.ts';

/**
 * An experiment: the answer that a screen shows, what was trained in every variant beside the rules, and how each agent stands to
 * rules that may ask the detector as often.
 */
export function stopAgentDocument(options: {
  name: string;
  description: string;
  command: string;
  answer: Answer;
}): ReportDocument {
  const { name, description, command, answer } = options;
  const opening = answerBlocks(answer);
  const isAfterDetector = answer.detectors.length > 0;
  const shift = answer.shift === null ? [] : [`**${answer.shift}**`];
  const detectors = detectorTruthSections(answer.detectors);
  const last = detectors.at(-1);
  return {
    title: name,
    lead: isAfterDetector ? [] : [...shift, ...opening],
    sections: [
      ...detectors.map((section) =>
        section === last ? { ...section, blocks: [...section.blocks, ...shift] } : section,
      ),
      ...(isAfterDetector ? [{ id: 'agents', title: 'Agents', blocks: opening }] : []),
      {
        id: 'run',
        title: 'What was run',
        blocks: [...described(description), { command }, ...systemsBlocks(answer.agents)],
      },
      ...comparisonSections(answer.agents),
    ],
  };
}

/** Every system that tables show. */
export function systemsBlocks(variants: readonly RankedAgent[]): Block[] {
  const several = variants.length > 1;
  const metrics = shownMetrics(variants.flatMap((own) => own.systems));
  const learntRows = variants.flatMap(({ variant, systems }) =>
    systems
      .filter(({ name }) => isLearnt(name))
      .map((system) => {
        const name = several ? `${system.name}: ${variant}` : system.name;
        return systemRow(system.name === agentName ? `**${name}**` : name, system, metrics);
      }),
  );
  const [{ variant, trials, systems }] = variants;
  const rules = systems.filter(({ name }) => !isLearnt(name) && isShown(name));
  const rows = [...learntRows, ...rules.map((system) => systemRow(system.name, system, metrics))];
  const [{ part, threads }] = trials;
  const sizes = Object.entries(threads).map(([name, count]) => `${name} ${count}`);
  return [
    `Threads: ${sizes.join(', ')}. Seeds: ${trials.map(({ seed }) => seed).join(', ')}. Mean ± standard deviation over seeds.`,
    ...(part === 'test'
      ? []
      : ['**Decided: the development part.** Choose settings here, then decide the test part once.']),
    {
      heading: ['system', ...metrics.map(({ title }) => title), 'most common stop'],
      rows,
      texts: ['most common stop'],
      isMarked: (row) => rows[row][0].startsWith('**'),
    },
    'ER is the share of a thread’s posts seen at the decision; lower is earlier. Calls are those of the detector: at the stop, and\n' +
      'for confidence rules and detector-aware agents at the posts where they query it. The label-aware bound\n' +
      'sees the labels and is out of reach. Rules are those of the\n' +
      `${several ? `splits of the variant ${variant}` : 'same splits'}; of ${systems.filter(({ name }) => !isLearnt(name)).length} rules ${rules.length} are shown, and all are compared with below.`,
  ];
}

/** How the agents stand to rules, what they score if they draw their stops, and what they learnt from. */
export function comparisonSections(variants: readonly RankedAgent[]): ReportSection[] {
  return [
    {
      id: 'rules',
      title: 'Against rules that may ask as often',
      blocks: [
        {
          heading: [
            'agent',
            'ER',
            'calls a thread',
            'over the best rule of one call',
            'over rules of one call',
            'over rules of as many calls',
            'over rules of any number of calls',
          ],
          rows: variants.map(({ variant, agent: { values }, front }) => [
            variant,
            ...[values.er, values.callsPerThread].map((value) => value?.mean.toFixed(3) ?? '–'),
            ...[front.overBestRule, front.overOneCall, front.overEqualCalls, front.overAnyCalls].map(marginCell),
          ]),
        },
        'Macro-F1 above that of rules which are as early; but for the first column, above every mixture of them. In brackets 95 %,\n' +
          'bootstrap over seeds and the threads of each. Rules are picked by the scores they are compared on, which favours them.',
      ],
    },
    ...sampledSection(variants),
    {
      id: 'demonstrations',
      title: 'Demonstrations',
      blocks: [
        {
          heading: ['agent', 'conservative', 'early action', 'misleading', 'conservative that stop at the first post'],
          rows: variants.map(({ variant, trials }) => [
            variant,
            ...['conservative', 'earlyAction', 'misleading'].map((expert) =>
              mean(trials.map(({ demonstrations }) => demonstrations[expert])).toFixed(1),
            ),
            percent(mean(trials.map(({ stopsAtFirstPost }) => stopsAtFirstPost.conservative))),
          ]),
        },
      ],
    },
  ];
}

/** What the same agents would score if they drew their stops; nothing where no run kept its probabilities. */
function sampledSection(variants: readonly RankedAgent[]): ReportSection[] {
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
  const explained =
    'Agents stop where π(stop) first exceeds one half. Here they stop at every post with probability π(stop), as in training: the expectation over\n' +
    'all draws, which is exact.';
  const table = { heading: ['agent', 'macro-F1', 'ER', 'calls a thread'], rows };
  return [{ id: 'sampled', title: 'If stops were sampled', blocks: [table, explained] }];
}

/** What a page and a screen open with, too. */
function answerBlocks({ reading, table, legend, choice, verdict, recommended, promises, next }: Answer): Block[] {
  const [heading, ...rows] = table;
  return [
    ...(reading === null ? [] : [reading]),
    `**Verdict:** ${verdict}`,
    recommended.sentence,
    ...promises.map((promise) => `**Promise:** ${promise}`),
    // Markdown drops the spaces that set a rule under its agent.
    { heading, rows: rows.map(([first, ...cells]) => [first.replace(/^ +/, '– '), ...cells]) },
    `${legend} ${choice}`,
    ...(next.length === 0 ? [] : ['Next:', ['```sh', ...next, '```'].join('\n')]),
  ];
}

/** A margin with its interval; – where there is no rule to compare with. */
function marginCell(margin: Margin | null): string {
  return margin === null ? '–' : shownMargin(margin, { withDeviation: true });
}

function systemRow(
  name: string,
  { values, calls, mostCommonStop }: SystemSummary,
  metrics: ReturnType<typeof shownMetrics>,
): string[] {
  return [
    name,
    ...metrics.map((metric) => {
      const value = values[metric.name];
      if (value === null || (metric.isNotForOracles && calls === 'oracle')) return '–';
      // What calls cost hardly varies over seeds; its deviation would only widen the table.
      return plusMinus(metric.isNotForOracles ? { ...value, deviation: null } : value, { digits: metric.decimals });
    }),
    `${mostCommonStop.name} (${percent(mostCommonStop.share)})`,
  ];
}
