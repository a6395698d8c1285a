import { narrowTable, wrapped } from '../../report/narrow-table.ts';
import { numbersTable } from '../../report/numbers-table.ts';
import { html } from '../../report/page/html.ts';
import { type Page, renderPage } from '../../report/page/page.ts';
import { type Cell, table } from '../../report/page/tables.ts';
import { signed } from '../../report/shown-numbers.ts';
import { type PageSource, type ReportSource, resultsOf } from '../../report/variant-results.ts';
import type { QueryMetric } from '../result.ts';
import { readQueryResult } from '../result.ts';
import {
  type AgentStanding,
  type Estimate,
  factsOf,
  type QueryStanding,
  settingsInWords,
  standingOf,
} from './standing.ts';

type Reported = Pick<ReportSource, 'name' | 'description' | 'command'> & { readonly standing: QueryStanding };

const explained = [
  'In brackets 95 % intervals by a bootstrap over seeds and the threads of each. Return: 1 for a right answer, less the delay and what was',
  'asked. Cost: of what was asked, a thread, in the same units. ER: share of a thread’s posts that were read. Rules that the labelled threads',
  'choose see those of the development part, too, as the agent does. The last row is a mixture that is picked on the test threads',
  'themselves, which favours it.',
];

/** The tables in Markdown. */
export function renderQueryReport({ name, description, command, standing }: Reported): string {
  const sections = standing.agents.flatMap((agent) => {
    const [heading, ...rows] = rowsOf(agent);
    return [
      `## ${agent.variant}`,
      '',
      `${factsOf(agent)}.`,
      '',
      numbersTable(heading, rows),
      '',
      `${settingsInWords(agent)}.`,
      '',
    ];
  });
  const lines = [
    `# ${name}`,
    '',
    `Verdict: ${standing.verdict}.`,
    '',
    ...(description.trim() === '' ? [] : [description.trim(), '']),
    `Command: \`${command}\``,
    '',
    ...sections,
    ...explained,
  ];
  return `${lines.join('\n')}\n`;
}

/** The same on a screen: no line is longer than 100 characters. */
export function summarizeQueryAgents({ name, standing }: Pick<Reported, 'name' | 'standing'>): string {
  const tables = standing.agents.flatMap((agent) => [
    `${agent.variant}`,
    '',
    narrowTable([
      ['system', 'return', 'macro-F1', 'ER', 'cost', 'agent above it'],
      ...agent.systems.map(({ title, values, agentAbove }) => [
        title,
        ...['meanReturn', 'macroF1', 'er'].map((metric) => values[metric].estimate.toFixed(3)),
        values.cost.estimate.toFixed(4),
        agentAbove === null ? '' : difference(agentAbove.return),
      ]),
    ]),
    '',
  ]);
  return [
    `${name}: an agent that asks several detectors`,
    '',
    ...tables,
    wrapped(`Verdict: ${standing.verdict}.`),
    '',
  ].join('\n');
}

/** The tables as a page. */
export async function queryPage({ name, description, command, variants }: PageSource): Promise<Page> {
  const { agents, verdict } = standingOf(resultsOf(variants, readQueryResult));
  return {
    html: renderPage({
      title: name,
      introduction: html`${description.trim() === '' ? null : html`<p>${description.trim()}</p>`}
<p>Verdict: ${verdict}.</p>
<p class="command"><code>${command}</code></p>`,
      sections: agents.map((agent, index) => {
        const [heading, ...rows] = rowsOf(agent);
        return {
          id: `agent-${index + 1}`,
          title: agent.variant,
          body: html`<p class="facts">${factsOf(agent)}.</p>
${table({
  caption: 'The agent and rules beside it; a row stands out where its return is measurably another than the agent’s',
  columns: heading,
  rows: rows.map((row, place) => row.map((shown, column): Cell => ({ shown, value: sortedBy(agent, place, column) }))),
  isMarked: (row) => {
    const above = agent.systems[row].agentAbove?.return;
    return above !== undefined && (above.low > 0 || above.high < 0);
  },
})}
<p>${settingsInWords(agent)}.</p>
<p>${explained.join(' ')}</p>`,
        };
      }),
      data: { inspector: null, items: null },
    }),
    pictures: {},
  };
}

/** The heading, then a row of each system. */
function rowsOf({ systems, metrics }: AgentStanding): string[][] {
  return [
    ['system', ...metrics.map(({ title }) => title), 'agent’s return above it', 'agent’s macro-F1 above it'],
    ...systems.map(({ title, values, agentAbove }) => [
      title,
      ...metrics.map((metric) => cell(values[metric.name], metric)),
      ...(agentAbove === null ? ['', ''] : [difference(agentAbove.return), difference(agentAbove.macroF1)]),
    ]),
  ];
}

/** What a table sorts a cell by. */
function sortedBy({ systems, metrics }: AgentStanding, row: number, column: number): number | string {
  const { title, values, agentAbove } = systems[row];
  if (column === 0) return title;
  if (column <= metrics.length) return values[metrics[column - 1].name].estimate;
  return agentAbove?.[column === metrics.length + 1 ? 'return' : 'macroF1'].estimate ?? '';
}

function cell({ estimate, low, high }: Estimate, { decimals, name }: QueryMetric): string {
  const shown = estimate.toFixed(decimals);
  return name === 'meanReturn' || name === 'macroF1'
    ? `${shown} [${low.toFixed(decimals)}, ${high.toFixed(decimals)}]`
    : shown;
}

function difference({ estimate, low, high }: Estimate): string {
  return `${signed(estimate, 3)} [${signed(low, 3)}, ${signed(high, 3)}]`;
}
