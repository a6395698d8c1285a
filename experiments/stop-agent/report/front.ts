import type { Interval } from '../../../src/metrics/bootstrap.ts';
import { labelGap, legible } from '../../report/legible-labels.ts';
import {
  type Chart,
  category,
  type DrawnChart,
  dots,
  figure,
  ink,
  palette,
  paper,
  quantity,
  quiet,
  seriesColours,
  silent,
} from '../../report/page/chart.ts';
import { blocksMarkup, pageSections } from '../../report/page/document-markup.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { isShown } from '../decisions.ts';
import { optimumName } from '../stream-optimum.ts';
import { hullOf, type PlottedSystem } from './operating-points.ts';
import type { RankedAgent } from './ranked-agents.ts';
import { comparisonSections, systemsBlocks } from './stop-agent-report.ts';

/** What stands beside the agents, whose groups are their names. */
const groups = {
  learnt: { group: 'other learnt system', colour: quiet, shape: 'square' },
  rule: { group: 'rule', colour: palette.grey, shape: 'circle' },
  bound: { group: 'label-aware bound', colour: ink, shape: 'triangle-up' },
  optimum: { group: optimumName, colour: ink, shape: 'triangle-down' },
} as const;
const groupNamed = (name: string) => Object.values(groups).find(({ group }) => group === name);

/**
 * Macro-F1 over what a system costs: posts (ER) or calls of the detector. All agents, all rules, intervals of the agents, the
 * line that mixtures of rules attain, and the bound that sees the labels.
 */
export function frontChart(systems: readonly PlottedSystem[], price: 'er' | 'calls'): Chart {
  const shown = systems.filter(({ kind }) => price === 'er' || !isOutOfReach(kind));
  const agents = shown.filter(({ kind }) => kind === 'agent');
  const groupOf = ({ kind, name }: PlottedSystem) => (kind === 'agent' ? name : groups[kind].group);
  const domain = [...new Set(shown.map(groupOf))].sort((a, b) => rank(a) - rank(b));
  const point = (system: PlottedSystem) => ({
    name: system.name,
    x: system[price],
    y: system.macroF1,
    group: groupOf(system),
    details: detailsOf(system),
  });
  const hull = hullOf(shown, price);
  const scale = price === 'calls' ? { type: 'log', base: 2 } : { zero: false };
  const position = {
    x: quantity('x', {
      title: price === 'er' ? 'ER: share of the posts seen (left is earlier)' : 'calls of the detector a thread',
      scale: { nice: false, padding: 18, ...scale },
      axis: price === 'calls' ? { format: '~g' } : {},
    }),
    y: quantity('y', { title: 'macro-F1', scale: { zero: false, nice: false, padding: 14 } }),
  };
  const colour = (group: string) =>
    groupNamed(group)?.colour ?? seriesColours[domain.indexOf(group) % seriesColours.length];
  const shape = (group: string) => groupNamed(group)?.shape ?? 'diamond';
  const bars = agents.flatMap((system) => {
    if (system.intervals === null) return [];
    const { macroF1 } = system.intervals;
    const across = system.intervals[price];
    const { x, y, group } = point(system);
    return [
      { group, x, y: macroF1.low, x2: x, y2: macroF1.high },
      { group, x: across.low, y, x2: across.high, y2: y },
    ];
  });
  const corners = new Set(hull);
  const across = shown.map(({ [price]: x }) => x);
  const middle = (Math.min(...across) + Math.max(...across)) / 2;
  const labels = legible(
    shown
      .filter(
        (system) =>
          system.kind === 'agent' ||
          system.isRecommended ||
          isOutOfReach(system.kind) ||
          (corners.has(system) && isShown(system.name) && system.name.length <= longestRuleName),
      )
      .map((system) => ({
        ...point(system),
        // The recommended agent is named in any case.
        name: system.isRecommended ? `${system.name}: recommended` : system.name,
        isRule: system.kind === 'rule',
        isKept:
          system.isRecommended ||
          isOutOfReach(system.kind) ||
          (system.kind === 'agent' && agents.length <= namedAgents),
      })),
    shown.map(point),
    { width, height, isLogarithmic: price === 'calls' },
  );
  // Rules stand below the line that they are corners of, all others above their point.
  const textBeside = (isRule: boolean, outline: object = {}) => ({
    data: { values: labels.filter((label) => label.isRule === isRule) },
    ...silent(
      'text',
      { ...position, text: category('name') },
      {
        ...outline,
        align: { expr: `datum.x > ${middle} ? 'right' : 'left'` },
        dx: { expr: `datum.x > ${middle} ? -${labelGap} : ${labelGap}` },
        dy: { expr: 'datum.dy' },
        fontSize: isRule ? 10 : 11,
        fontWeight: isRule ? 'normal' : 600,
        color: isRule ? quiet : ink,
      },
    ),
  });
  const legend = { title: null, orient: 'top', columns: 2, symbolSize: 110, symbolOpacity: 1 };
  const color = (options: object = {}) =>
    category('group', { ...options, scale: { domain, range: domain.map(colour) } });
  const marks = (large: boolean) => ({
    data: { values: shown.filter(({ kind }) => (kind === 'rule') !== large).map(point) },
    ...dots(
      {
        ...position,
        color: color(large ? { legend } : {}),
        shape: category('group', { ...(large && { legend }), scale: { domain, range: domain.map(shape) } }),
      },
      { size: large ? 130 : 34, opacity: large ? 1 : 0.55 },
    ),
  });
  return {
    name: price === 'er' ? 'front' : 'front-calls',
    label: `Macro-F1 against ${price === 'er' ? 'ER' : 'calls'}: ${agents.length} agents, ${shown.filter(({ kind }) => kind === 'rule').length} rules. Arrow keys go through the points.`,
    spec: {
      width,
      height,
      layer: [
        {
          data: { values: hull.map((system) => ({ x: system[price], y: system.macroF1 })) },
          ...silent('line', position, { color: palette.grey, strokeWidth: 1.5, strokeDash: [5, 4] }),
        },
        { data: { values: bars }, ...silent('rule', { ...position, ...ends, color: color() }, barStroke) },
        marks(false),
        {
          data: { values: shown.filter(({ isRecommended }) => isRecommended).map(point) },
          ...silent('point', position, { shape: 'circle', size: 420, strokeWidth: 2, color: ink }),
        },
        marks(true),
        // Lines behind a name end at its outline.
        ...[true, false].flatMap((isRule) => [textBeside(isRule, haloed), textBeside(isRule)]),
      ],
    },
  };
}

function isOutOfReach(kind: PlottedSystem['kind']): boolean {
  return kind === 'bound' || kind === 'optimum';
}

const ends = { x2: { field: 'x2' }, y2: { field: 'y2' } };
const barStroke = { strokeWidth: 2, opacity: 0.7 };
const haloed = { stroke: paper, strokeWidth: 4, strokeJoin: 'round' };
const width = 480;
const height = 360;

/** Longer names of rules would lie across the chart; pointing at the rule tells them. */
const longestRuleName = 18;

/** With more agents than this their names would stand on one another; the legend has them, too. */
const namedAgents = 3;

/** Agents come first. */
function rank(group: string): number {
  return Object.values(groups).findIndex((own) => own.group === group) + 1;
}

function detailsOf(system: PlottedSystem): string {
  const { name, macroF1, er, calls, intervals, kind, repeat, seeds } = system;
  const within = (interval: Interval | undefined, digits: number) =>
    interval === undefined ? '' : ` [${interval.low.toFixed(digits)}, ${interval.high.toFixed(digits)}]`;
  return [
    name,
    `macro-F1 ${macroF1.toFixed(3)}${within(intervals?.macroF1, 3)}`,
    `ER ${er.toFixed(3)}${within(intervals?.er, 3)}`,
    ...(kind === 'bound' ? ['It sees the labels and is out of reach.'] : []),
    ...(kind === 'optimum' ? ['It knows how the stream was made.'] : []),
    ...(isOutOfReach(kind) ? [] : [`${calls.toFixed(1)} calls a thread`]),
    ...(seeds > 1 ? [`mean over ${seeds} seeds`] : []),
    `Again: ${repeat}`,
  ].join('\n');
}

/** The front against calls, and the numbers of what tables show. */
export function frontSection(agents: readonly RankedAgent[], callsChart: DrawnChart): Markup {
  const sections = pageSections({ sections: comparisonSections(agents) });
  return html`${figure(callsChart, 'Macro-F1 against calls of the detector: what a system costs where judgements are paid for.')}
<details><summary>The numbers</summary>
${blocksMarkup(systemsBlocks(agents), 'Agents and rules')}
${sections.map(({ title, body }) => html`<h3>${title}</h3>\n${body}`)}</details>`;
}
