import { groupBy } from '../../../src/data/group-by.ts';
import { legible } from '../../report/legible-labels.ts';
import {
  category,
  dots,
  draw,
  ordered,
  palette,
  quantity,
  quiet,
  type Spec,
  silent,
  told,
} from '../../report/page/chart.ts';
import type { FrontPoint } from '../front.ts';
import { type SweepPlan, shortNames } from '../plan.ts';
import type { SettingSummary } from '../results.ts';
import { grouping } from '../sensitivity.ts';

interface Pictured {
  readonly plan: SweepPlan;
  readonly settings: readonly SettingSummary[];
  readonly front: readonly FrontPoint[];
}

/**
 * The pictures of a sweep as SVG, by file name; those that its options do not give are left out. All of them show the
 * development part.
 */
export async function sweepPictures(pictured: Pictured): Promise<Record<string, string>> {
  const specs: Record<string, Spec | null> = {
    'front.svg': frontSpec(pictured),
    'heat-map.svg': heatMapSpec(pictured),
    'triangle.svg': triangleSpec(pictured),
    'seeds.svg': seedsSpec(pictured),
  };
  const drawn: Record<string, string> = {};
  for (const [name, spec] of Object.entries(specs))
    if (spec !== null) drawn[name] = (await draw({ name, label: '', spec })).svg;
  return drawn;
}

/** Macro-F1 over ER: settings, baselines, and the staircase of the systems that no other beats. */
function frontSpec({ plan, front }: Pictured): Spec | null {
  if (front.length === 0) return null;
  const values = front.map((point) => ({
    ...point,
    kind: point.isSwept ? 'swept setting' : 'baseline',
    details: `${point.name}\nmacro-F1 ${point.macroF1.toFixed(3)}\nER ${point.er.toFixed(3)}\n${point.calls.toFixed(1)} calls a thread`,
  }));
  const stairs = front.filter(({ isOnFront }) => isOnFront).sort((a, b) => a.er - b.er);
  const places = groupBy(stairs, ({ er, macroF1 }) => `${er} ${macroF1}`);
  const named = Array.from(places.values(), (own) => ({
    er: own[0].er,
    macroF1: own[0].macroF1,
    isSwept: own.some(({ isSwept }) => isSwept),
    name: nameOfPlace(own),
  }));
  const labels = legible(
    named.map((own) => ({ ...own, x: own.er, y: own.macroF1, isKept: own.isSwept, isRule: false })),
    values.map(({ er, macroF1 }) => ({ x: er, y: macroF1 })),
    { width: 560, height: 400, isLogarithmic: false },
  );
  const position = {
    x: quantity('er', { title: 'ER (lower is earlier)', scale: { zero: false } }),
    y: quantity('macroF1', { title: 'macro-F1', scale: { zero: false } }),
  };
  const kinds = (range: readonly string[]) =>
    category('kind', { title: null, scale: { domain: ['swept setting', 'baseline'], range } });
  const color = kinds([palette.vermillion, palette.blue]);
  const shape = kinds(['circle', 'square']);
  const size = quantity('calls', { title: 'calls a thread', scale: { range: [40, 240] } });
  const stroke = { interpolate: 'step-after', color: palette.grey, strokeDash: [4, 3] };
  const beside = {
    // Late points stand at the right edge.
    align: { expr: "datum.er > 0.6 ? 'right' : 'left'" },
    dx: { expr: 'datum.er > 0.6 ? -7 : 7' },
    dy: { expr: 'datum.dy' },
    // A setting of many options has a long name, which would otherwise widen the whole picture.
    limit: 300,
    fontSize: 9,
    color: quiet,
  };
  return {
    title: `${plan.name}: macro-F1 against ER, development part`,
    width: 560,
    height: 400,
    layer: [
      { data: { values: stairs }, ...silent('line', position, stroke) },
      { data: { values }, ...dots({ ...position, color, shape, size }, { opacity: 0.9 }) },
      { data: { values: labels }, ...silent('text', { ...position, text: category('name') }, beside) },
    ],
  };
}

/** Systems that stand at one place: hundreds of settings may. */
function nameOfPlace(systems: readonly FrontPoint[]): string {
  const names = systems.map(({ name }) => name);
  return names.length <= 2 ? names.join(', ') : `${names[0]} and ${names.length - 1} more`;
}

/** Cells along a side of a heat map, beyond which it would not fit on a page. */
const cellsAtMost = 20;

/** The mean objective over two swept options, averaged over all others. Drawn numbers, of which no two are alike, are grouped. */
function heatMapSpec({ plan, settings }: Pictured): Spec | null {
  const swept = Object.keys(plan.sweep.space);
  const [first, second] = plan.sweep.pictures.heatMap ?? swept;
  if (second === undefined) return null;
  const names = shortNames(plan.paths);
  const values = settings.flatMap(({ point, objective }) =>
    objective === null ? [] : [{ first: point[first], second: point[second], value: objective.mean }],
  );
  if (values.length === 0) return null;
  const side = (key: 'first' | 'second', path: string) => {
    const own = values.map((each) => each[key]);
    const groupOf = grouping(own, { atMost: cellsAtMost });
    const areNumbers = own.every((value) => typeof value === 'number');
    const sorted = areNumbers ? own.sort((a, b) => Number(a) - Number(b)) : own;
    return { groupOf, title: names.get(path) ?? path, sort: [...new Set(sorted.map(groupOf))] };
  };
  const [{ groupOf: columnOf, ...columns }, { groupOf: rowOf, ...rows }] = [
    side('first', first),
    side('second', second),
  ];
  const cells = values.map((each) => ({ ...each, first: columnOf(each.first), second: rowOf(each.second) }));
  const meanOf = (options: object) => quantity('value', { aggregate: 'mean', ...options });
  const shown = (mark: Spec) => silent('text', { text: meanOf({ format: '.3f' }) }, { fontSize: 9, ...mark });
  const outline = { stroke: 'white', strokeWidth: 2.5, strokeJoin: 'round' };
  return {
    title: `${plan.name}: ${plan.aim}, development part`,
    width: { step: 44 },
    height: { step: 30 },
    data: { values: cells },
    encoding: {
      x: ordered('first', columns),
      y: ordered('second', { ...rows, sort: rows.sort.reverse() }),
    },
    layer: [
      { mark: 'rect', encoding: { color: meanOf({ title: plan.aim, scale: { scheme: 'viridis' } }) } },
      shown(outline),
      shown({ color: 'black' }),
    ],
  };
}

const weights = ['alpha', 'beta', 'gamma'].map((name) => `agent.imitation.${name}`);

/** Where each corner stands for all weight on one expert: α conservative on top, β early action left, γ misleading right. */
function triangleSpec({ plan, settings }: Pictured): Spec | null {
  if (!weights.every((path) => plan.paths.includes(path))) return null;
  const height = Math.sqrt(3) / 2;
  const place = (alpha: number, gamma: number) => ({ x: gamma + alpha / 2, y: alpha * height });
  const values = settings.flatMap(({ point, objective, label }) => {
    const [alpha, beta, gamma] = weights.map((path) => Number(point[path]));
    const sum = alpha + beta + gamma;
    if (objective === null || !(sum > 0)) return [];
    const { mean } = objective;
    return [{ ...place(alpha / sum, gamma / sum), value: mean, details: `${label}\n${plan.aim} ${mean.toFixed(3)}` }];
  });
  if (values.length === 0) return null;
  const outline = [place(0, 0), place(0, 1), place(1, 0), place(0, 0)].map((corner, order) => ({ ...corner, order }));
  const corners = [
    { ...place(1, 0), y: height + 0.05, text: 'α = 1' },
    { ...place(0, 0), y: -0.06, text: 'β = 1' },
    { ...place(0, 1), y: -0.06, text: 'γ = 1' },
  ];
  const axis = (field: 'x' | 'y', domain: readonly number[]) =>
    quantity(field, { axis: null, scale: { domain, nice: false } });
  const position = { x: axis('x', [-0.08, 1.08]), y: axis('y', [-0.12, 0.96]) };
  const color = quantity('value', { title: plan.aim, scale: { scheme: 'viridis' } });
  return {
    title: `${plan.name}: ${plan.aim} over the ratio of the experts, development part`,
    width: 464,
    height: 432,
    layer: [
      {
        data: { values: outline },
        ...silent('line', { ...position, order: quantity('order') }, { color: palette.grey }),
      },
      { data: { values }, ...told('circle', { ...position, color }, { size: 420, opacity: 1 }) },
      { data: { values: corners }, ...silent('text', { ...position, text: category('text') }, { fontSize: 13 }) },
    ],
  };
}

/** Settings whose seeds are drawn, beyond which nobody would scroll. */
const seedRowsAtMost = 60;

/** The objective of every seed of every setting, with the means; of very many settings, of those that score highest. */
function seedsSpec({ plan, settings }: Pictured): Spec | null {
  const all = settings.flatMap((setting) => (setting.objective === null ? [] : [{ ...setting, ...setting.objective }]));
  if (all.length === 0) return null;
  const isCut = all.length > seedRowsAtMost;
  const scored = isCut ? [...all].sort((a, b) => b.mean - a.mean).slice(0, seedRowsAtMost) : all;
  const values = scored.flatMap(({ label, rows }) =>
    rows.flatMap(({ trial, objective: value }) => {
      const told = `${label}, seed ${trial.seed}\n${plan.aim} ${value?.toFixed(3)}`;
      return value === null ? [] : [{ label, value, details: told }];
    }),
  );
  const order = scored.map(({ label }) => label);
  const y = category('label', { title: null, sort: order, axis: { labelLimit: 360 } });
  const x = quantity('value', { title: plan.aim, scale: { zero: false } });
  const mean = quantity('value', { aggregate: 'mean' });
  return {
    title: `${plan.name}: spread over seeds, development part${isCut ? `; the ${seedRowsAtMost} of ${all.length} settings that score highest` : ''}`,
    width: 480,
    height: { step: 20 },
    data: { values },
    layer: [
      told('circle', { y, x }, { color: palette.blue, opacity: 0.6, size: 50 }),
      silent('tick', { y, x: mean }, { color: palette.vermillion, thickness: 3, size: 16 }),
    ],
  };
}
