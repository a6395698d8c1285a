import { described, type ReportDocument, type ReportTable } from '../../report/document.ts';
import type { ScreenBlock } from '../../report/narrow-table.ts';
import { isMeasurable, signedInterval, withInterval } from '../../report/shown-numbers.ts';
import type { ReportSource } from '../../report/variant-results.ts';
import type { QueryMetric } from '../result.ts';
import { type AgentStanding, type Estimate, factsOf, type QueryStanding, settingsInWords } from './standing.ts';

type Reported = Pick<ReportSource, 'name' | 'description' | 'command'> & { readonly standing: QueryStanding };

const explained =
  'In brackets 95 % intervals by a bootstrap over seeds and the threads of each. Return: 1 for a right answer, less the delay and what was\n' +
  'asked. Cost: of what was asked, a thread, in the same units. ER: share of a thread’s posts that were read. Rules that the labelled threads\n' +
  'choose see those of the development part, too, as the agent does. The last row is a mixture that is picked on the test threads\n' +
  'themselves, which favours it. A row of a page stands out where its return is measurably another than the agent’s.';

/** The agent and the rules beside it, for each variant. */
export function queryDocument({ name, description, command, standing }: Reported): ReportDocument {
  const { agents, verdict } = standing;
  return {
    title: name,
    lead: [`Verdict: ${verdict}.`, ...described(description), { command }],
    sections: agents.map((agent, index) => ({
      id: `agent-${index + 1}`,
      title: agent.variant,
      blocks: [
        `${factsOf(agent)}.`,
        tableOf(agent),
        `${settingsInWords(agent)}.`,
        ...(index === agents.length - 1 ? [explained] : []),
      ],
    })),
  };
}

/** The same on a screen. */
export function summarizeQueryAgents(name: string, { agents, verdict }: QueryStanding): ScreenBlock[] {
  const tables = agents.flatMap(({ variant, systems }): ScreenBlock[] => [
    variant,
    [
      ['system', 'return', 'macro-F1', 'ER', 'cost', 'agent above it'],
      ...systems.map(({ title, values, agentAbove }) => [
        title,
        ...['meanReturn', 'macroF1', 'er'].map((metric) => values[metric].estimate.toFixed(3)),
        values.cost.estimate.toFixed(4),
        agentAbove === null ? '' : signedInterval(agentAbove.return),
      ]),
    ],
  ]);
  return [`${name}: an agent that asks several detectors`, ...tables, `Verdict: ${verdict}.`];
}

function tableOf({ systems, metrics }: AgentStanding): ReportTable {
  return {
    heading: ['system', ...metrics.map(({ title }) => title), 'agent’s return above it', 'agent’s macro-F1 above it'],
    rows: systems.map(({ title, values, agentAbove }) => [
      title,
      ...metrics.map((metric) => cell(values[metric.name], metric)),
      ...(agentAbove === null ? ['', ''] : [signedInterval(agentAbove.return), signedInterval(agentAbove.macroF1)]),
    ]),
    isMarked: (row) => {
      const above = systems[row].agentAbove?.return;
      return above !== undefined && isMeasurable(above);
    },
  };
}

function cell(of: Estimate, { decimals, name }: QueryMetric): string {
  const isScore = name === 'meanReturn' || name === 'macroF1';
  return isScore ? withInterval(of, decimals) : of.estimate.toFixed(decimals);
}
