import { groupBy } from '../../../src/data/group-by.ts';
import { frontChart } from '../../report/charts/front-chart.ts';
import { type Chart, ordered, quantity, type Spec, silent } from '../../report/page/chart.ts';
import { type SweepPlan, shortNames } from '../plan.ts';
import { grouping } from '../sensitivity.ts';
import type { SettingSummary, SweepPoint } from '../trial-rows.ts';

export interface Charted {
  readonly plan: SweepPlan;
  readonly settings: readonly SettingSummary[];
  readonly front: readonly SweepPoint[];
}

/** Charts of the development part; those that the options of the sweep do not give are left out. */
export function sweepCharts(charted: Charted): Chart[] {
  return [...paretoChart(charted), ...heatMap(charted)];
}

/** Macro-F1 over earliness: settings, baselines, and the line of the systems that no other beats. */
function paretoChart({ front }: Charted): Chart[] {
  if (front.length === 0) return [];
  const places = groupBy(front, ({ er, macroF1, isSwept }) => `${er} ${macroF1} ${isSwept}`);
  const points = Array.from(places.values(), (settings) => {
    const [{ name, er: x, macroF1: y, isSwept, isOnFront, queries }] = settings;
    return {
      // Hundreds of settings may stand at one place.
      name:
        settings.length <= 2 ? settings.map((each) => each.name).join(', ') : `${name} and ${settings.length - 1} more`,
      ...{ x, y, isNamed: isOnFront },
      kind: isSwept ? ('trained' as const) : ('baseline' as const),
      details: `macro-F1 ${y.toFixed(3)}\nearliness ${x.toFixed(3)}\n${queries.toFixed(1)} queries per thread`,
    };
  });
  return [
    frontChart(points, {
      name: 'front',
      title: 'Pareto front',
      label: `Macro-F1 against the share of posts read: ${points.length} settings and baselines of the development part.`,
      caption: 'Settings and rules on the development part. No other system beats those on the line in both aims.',
      line: points.filter(({ isNamed }) => isNamed).sort((a, b) => a.x - b.x),
      price: 'earliness: share of the posts read',
    }),
  ];
}

/** Cells along a side of a heat map, beyond which it would not fit on a page. */
const cellsAtMost = 12;

/** The mean objective over two swept options, averaged over all others. Drawn numbers, of which no two are alike, are grouped. */
function heatMap({ plan, settings }: Charted): Chart[] {
  const [first, second] = plan.sweep.pictures.heatMap ?? Object.keys(plan.sweep.space);
  const values = settings.flatMap(({ point, objective }) =>
    objective === null ? [] : [{ first: point[first], second: point[second], value: objective.mean }],
  );
  if (second === undefined || values.length === 0) return [];
  const names = shortNames(plan.paths);
  const side = (key: 'first' | 'second', path: string) => {
    const numbers = values.map((each) => each[key]);
    const groupOf = grouping(numbers, { atMost: cellsAtMost });
    const areNumbers = numbers.every((value) => typeof value === 'number');
    const sorted = areNumbers ? numbers.sort((a, b) => Number(a) - Number(b)) : numbers;
    return { groupOf, title: names.get(path) ?? path, sort: [...new Set(sorted.map(groupOf))] };
  };
  const { groupOf: columnOf, ...columns } = side('first', first);
  const { groupOf: rowOf, ...rows } = side('second', second);
  const cells = values.map((each) => ({ ...each, first: columnOf(each.first), second: rowOf(each.second) }));
  const meanOf = (options: object) => quantity('value', { aggregate: 'mean', ...options });
  const shown = (mark: Spec) => silent('text', { text: meanOf({ format: '.2f' }) }, { fontSize: 12, ...mark });
  return [
    {
      name: 'heat-map',
      title: `${columns.title} and ${rows.title}`,
      label: `Mean ${plan.aim} by ${columns.title} and ${rows.title}.`,
      caption: `Mean ${plan.aim} on the development part, averaged over all other options.`,
      spec: {
        width: { step: Math.max(36, Math.floor(250 / columns.sort.length)) },
        height: { step: 28 },
        data: { values: cells },
        encoding: { x: ordered('first', columns), y: ordered('second', { ...rows, sort: rows.sort.reverse() }) },
        layer: [
          { mark: 'rect', encoding: { color: meanOf({ title: plan.aim, scale: { scheme: 'viridis' } }) } },
          shown({ stroke: 'white', strokeWidth: 2.5, strokeJoin: 'round' }),
          shown({ color: 'black' }),
        ],
      },
    },
  ];
}
