import { markdownTable } from 'markdown-table';
import type { VariantResults } from '../run/experiment-kind.ts';
import { agentName } from '../stop-agent/decisions.ts';
import { shownMetrics } from '../stop-agent/metrics.ts';
import type { TrialResult } from '../stop-agent/result.ts';
import { collapsedShare, compareToFront, plusMinus, type SystemSummary, summarize } from './aggregate.ts';

/**
 * The tables of an experiment in Markdown: the agent of every variant beside the baselines, how each stands to the front
 * of the rules that call the detector once, and a warning for every agent that collapsed to a fixed rule.
 */
export function renderReport(options: {
  name: string;
  description: string;
  command: string;
  results: readonly VariantResults<TrialResult>[];
}): string {
  const { name, description, command, results } = options;
  const variants = results.map(({ variant, trials }) => ({
    variant,
    trials,
    systems: summarize(trials),
    front: compareToFront(trials),
  }));
  const several = variants.length > 1;
  const agentRows = variants.map(({ variant, systems }) => {
    const agent = systems.find((system) => system.name === agentName)!;
    return systemRow(several ? `**${agentName}: ${variant}**` : `**${agentName}**`, agent);
  });
  const baselines = variants[0].systems.filter((system) => system.name !== agentName);
  const counts = variants[0].trials[0];
  const lines = [
    `# ${name}`,
    '',
    ...(description.trim() === '' ? [] : [description.trim(), '']),
    `Command: \`${command}\``,
    '',
    `Threads: ${Object.entries(counts.threads)
      .map(([part, count]) => `${part} ${count}`)
      .join(
        ', ',
      )}. Seeds: ${variants[0].trials.map(({ seed }) => seed).join(', ')}. Mean ± standard deviation over seeds.`,
    '',
    markdownTable(
      [
        ['system', ...shownMetrics.map(({ title }) => title), 'most common stop'],
        ...agentRows,
        ...baselines.map((system) => systemRow(system.name, system)),
      ],
      { align: ['l', ...shownMetrics.map(() => 'r'), 'l'] },
    ),
    '',
    'ER is the share of a thread’s posts seen at the decision; lower is earlier. Confidence rules ask the detector at every',
    'post; all others ask it once. The label-aware bound sees the labels and is out of reach. Baselines are those of the',
    several ? `splits of the variant ${variants[0].variant}.` : 'same splits.',
    '',
    '## Against the rules that call the detector once',
    '',
    markdownTable(
      [
        [
          'agent',
          'area of the rules',
          'area with the agent',
          'macro-F1 over the best rule as early',
          '… over mixtures of two rules',
        ],
        ...variants.map(({ variant, front }) => [
          variant,
          plusMinus(front.ruleArea),
          plusMinus(front.areaWithAgent),
          plusMinus(front.overStaircase),
          plusMinus(front.overHull),
        ]),
      ],
      { align: ['l', 'r', 'r', 'r', 'r'] },
    ),
    '',
    'Areas are those dominated in the plane of ER and macro-F1, 1 being perfect at ER 0.',
    '',
    '## Demonstrations',
    '',
    markdownTable(
      [
        ['agent', 'conservative', 'early action', 'misleading', 'conservative that stop at the first post'],
        ...variants.map(({ variant, trials }) => {
          const mean = (of: (trial: TrialResult) => number) =>
            trials.reduce((sum, trial) => sum + of(trial), 0) / trials.length;
          return [
            variant,
            ...['conservative', 'earlyAction', 'misleading'].map((expert) =>
              mean((trial) => trial.demonstrations[expert]).toFixed(1),
            ),
            percent(mean((trial) => trial.stopsAtFirstPost.conservative)),
          ];
        }),
      ],
      { align: ['l', 'r', 'r', 'r', 'r'] },
    ),
    '',
    ...variants.flatMap(({ variant, systems }) => collapseWarning(variant, systems)),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
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

function collapseWarning(variant: string, systems: readonly SystemSummary[]): string[] {
  const agent = systems.find((system) => system.name === agentName);
  if (agent === undefined || agent.mostCommonStop.share < collapsedShare) return [];
  return [
    `**The agent${variant === 'agent' ? '' : ` of ${variant}`} collapsed**: it stops ${percent(agent.mostCommonStop.share)} of the threads at ${agent.mostCommonStop.name}, as a fixed rule would.`,
    '',
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}
