import type { TopLevelSpec } from 'vega-lite';
import { groupBy } from '../../src/data/group-by.ts';
import type { FrontPoint } from '../sweep/front.ts';
import { type SweepPlan, shortNames } from '../sweep/plan.ts';
import type { MemberSummary } from '../sweep/results.ts';
import { chartSvg } from './vega-svg.ts';

interface Pictured {
  readonly plan: SweepPlan;
  readonly members: readonly MemberSummary[];
  readonly front: readonly FrontPoint[];
}

/**
 * The pictures of a sweep as SVG, by file name; those that its options do not give are left out. All of them show the
 * development part.
 */
export async function sweepPictures(pictured: Pictured): Promise<Record<string, string>> {
  const specs: Record<string, TopLevelSpec | null> = {
    'front.svg': frontSpec(pictured),
    'heat-map.svg': heatMapSpec(pictured),
    'triangle.svg': triangleSpec(pictured),
    'seeds.svg': seedsSpec(pictured),
  };
  const drawn: Record<string, string> = {};
  for (const [name, spec] of Object.entries(specs)) if (spec !== null) drawn[name] = await chartSvg(spec);
  return drawn;
}

const look = {
  background: 'white',
  config: { font: 'sans-serif', axis: { grid: true, gridOpacity: 0.4 }, view: { stroke: '#ccc' } },
} as const;
const orange = '#d95f02';
const blue = '#1f78b4';
const grey = '#666666';

function aimOf({ sweep, kind }: SweepPlan): string {
  return sweep.objective.maximise ?? kind.objective;
}

/** Macro-F1 over ER: settings, baselines, and the staircase of the systems that no other beats. */
export function frontSpec({ plan, front }: Pictured): TopLevelSpec | null {
  if (front.length === 0) return null;
  const values = front.map((point) => ({ ...point, kind: point.isSwept ? 'swept setting' : 'baseline' }));
  const stairs = front.filter(({ isOnFront }) => isOnFront).sort((a, b) => a.er - b.er);
  const places = groupBy(stairs, ({ er, macroF1 }) => `${er} ${macroF1}`);
  const named = Array.from(places.values(), (own) => ({
    er: own[0].er,
    macroF1: own[0].macroF1,
    isSwept: own.some(({ isSwept }) => isSwept),
    name: own.map(({ name }) => name).join(', '),
  }));
  const labels = legible(named, values);
  const position = {
    x: { field: 'er', type: 'quantitative', title: 'ER (lower is earlier)', scale: { zero: false } },
    y: { field: 'macroF1', type: 'quantitative', title: 'macro-F1', scale: { zero: false } },
  } as const;
  return {
    ...look,
    title: `${plan.name}: macro-F1 against ER, development part`,
    width: 560,
    height: 400,
    layer: [
      {
        data: { values: stairs },
        mark: { type: 'line', interpolate: 'step-after', color: grey, strokeDash: [4, 3] },
        encoding: position,
      },
      {
        data: { values },
        mark: { type: 'point', filled: true, opacity: 0.9 },
        encoding: {
          ...position,
          color: {
            field: 'kind',
            type: 'nominal',
            title: null,
            scale: { domain: ['swept setting', 'baseline'], range: [orange, blue] },
          },
          shape: {
            field: 'kind',
            type: 'nominal',
            title: null,
            scale: { domain: ['swept setting', 'baseline'], range: ['circle', 'square'] },
          },
          size: { field: 'calls', type: 'quantitative', title: 'calls a thread', scale: { range: [40, 240] } },
          tooltip: [{ field: 'name' }, { field: 'macroF1' }, { field: 'er' }, { field: 'calls' }],
        },
      },
      {
        data: { values: labels },
        mark: {
          type: 'text',
          // Late points stand at the right edge.
          align: { expr: "datum.er > 0.6 ? 'right' : 'left'" },
          dx: { expr: 'datum.er > 0.6 ? -7 : 7' },
          dy: -9,
          fontSize: 9,
          color: '#333',
        },
        encoding: { ...position, text: { field: 'name', type: 'nominal' } },
      },
    ],
  };
}

/** Names that do not stand on one another, those of swept settings first. */
function legible<Named extends { er: number; macroF1: number; isSwept: boolean }>(
  named: readonly Named[],
  points: readonly { er: number; macroF1: number }[],
): Named[] {
  const spread = (of: (point: { er: number; macroF1: number }) => number) =>
    Math.max(...points.map(of)) - Math.min(...points.map(of)) || 1;
  const [width, height] = [spread(({ er }) => er), spread(({ macroF1 }) => macroF1)];
  const kept: Named[] = [];
  for (const own of named.toSorted((a, b) => Number(b.isSwept) - Number(a.isSwept))) {
    const isNear = (other: Named) =>
      Math.abs(other.er - own.er) < 0.3 * width && Math.abs(other.macroF1 - own.macroF1) < 0.03 * height;
    if (own.isSwept || !kept.some(isNear)) kept.push(own);
  }
  return kept;
}

/** The mean objective over two swept options, averaged over all others. */
export function heatMapSpec({ plan, members }: Pictured): TopLevelSpec | null {
  const swept = Object.keys(plan.sweep.space);
  const [first, second] = plan.sweep.pictures.heatMap ?? swept;
  if (second === undefined) return null;
  const names = shortNames(plan.paths);
  const values = members.flatMap(({ settings, objective }) =>
    objective === null ? [] : [{ first: settings[first], second: settings[second], value: objective.mean }],
  );
  if (values.length === 0) return null;
  const cell = values.map((each) => ({ ...each, first: shown(each.first), second: shown(each.second) }));
  const order = (key: 'first' | 'second') => {
    const distinct = [...new Map(values.map((each) => [shown(each[key]), each[key]]))];
    const areNumbers = distinct.every(([, value]) => typeof value === 'number');
    return (areNumbers ? distinct.sort(([, a], [, b]) => Number(a) - Number(b)) : distinct).map(([text]) => text);
  };
  return {
    ...look,
    title: `${plan.name}: ${aimOf(plan)}, development part`,
    width: { step: 44 },
    height: { step: 30 },
    data: { values: cell },
    encoding: {
      x: { field: 'first', type: 'ordinal', title: names.get(first) ?? first, sort: order('first') },
      y: { field: 'second', type: 'ordinal', title: names.get(second) ?? second, sort: order('second').reverse() },
    },
    layer: [
      {
        mark: 'rect',
        encoding: {
          color: {
            aggregate: 'mean',
            field: 'value',
            type: 'quantitative',
            title: aimOf(plan),
            scale: { scheme: 'viridis' },
          },
        },
      },
      {
        mark: { type: 'text', fontSize: 9, stroke: 'white', strokeWidth: 2.5, strokeJoin: 'round' },
        encoding: { text: { aggregate: 'mean', field: 'value', type: 'quantitative', format: '.3f' } },
      },
      {
        mark: { type: 'text', fontSize: 9, color: 'black' },
        encoding: { text: { aggregate: 'mean', field: 'value', type: 'quantitative', format: '.3f' } },
      },
    ],
  };
}

const weights = ['alpha', 'beta', 'gamma'].map((name) => `agent.imitation.${name}`);

/** Where each corner stands for all weight on one expert: α conservative on top, β early action left, γ misleading right. */
export function triangleSpec({ plan, members }: Pictured): TopLevelSpec | null {
  if (!weights.every((path) => plan.paths.includes(path))) return null;
  const height = Math.sqrt(3) / 2;
  const place = (alpha: number, gamma: number) => ({ x: gamma + alpha / 2, y: alpha * height });
  const values = members.flatMap(({ settings, objective, label }) => {
    const [alpha, beta, gamma] = weights.map((path) => Number(settings[path]));
    const sum = alpha + beta + gamma;
    if (objective === null || !(sum > 0)) return [];
    return [{ ...place(alpha / sum, gamma / sum), value: objective.mean, label }];
  });
  if (values.length === 0) return null;
  const outline = [place(0, 0), place(0, 1), place(1, 0), place(0, 0)].map((corner, order) => ({ ...corner, order }));
  const corners = [
    { ...place(1, 0), y: height + 0.05, text: 'α = 1' },
    { ...place(0, 0), y: -0.06, text: 'β = 1' },
    { ...place(0, 1), y: -0.06, text: 'γ = 1' },
  ];
  const axis = (field: 'x' | 'y', domain: [number, number]) =>
    ({ field, type: 'quantitative', axis: null, scale: { domain, nice: false } }) as const;
  const position = { x: axis('x', [-0.08, 1.08]), y: axis('y', [-0.12, 0.96]) } as const;
  return {
    ...look,
    config: { ...look.config, view: { stroke: null } },
    title: `${plan.name}: ${aimOf(plan)} over the ratio of the experts, development part`,
    width: 464,
    height: 432,
    layer: [
      {
        data: { values: outline },
        mark: { type: 'line', color: grey },
        encoding: { ...position, order: { field: 'order', type: 'quantitative' } },
      },
      {
        data: { values },
        mark: { type: 'circle', size: 420, opacity: 1 },
        encoding: {
          ...position,
          color: { field: 'value', type: 'quantitative', title: aimOf(plan), scale: { scheme: 'viridis' } },
          tooltip: [{ field: 'label' }, { field: 'value' }],
        },
      },
      {
        data: { values: corners },
        mark: { type: 'text', fontSize: 13 },
        encoding: { ...position, text: { field: 'text', type: 'nominal' } },
      },
    ],
  };
}

/** The objective of every seed of every setting, with the means. */
export function seedsSpec({ plan, members }: Pictured): TopLevelSpec | null {
  const scored = members.filter(({ objective }) => objective !== null);
  if (scored.length === 0) return null;
  const values = scored.flatMap(({ label, rows }) =>
    rows.flatMap(({ trial, objective }) => (objective === null ? [] : [{ label, seed: trial.seed, value: objective }])),
  );
  const order = scored.map(({ label }) => label);
  const y = { field: 'label', type: 'nominal', title: null, sort: order, axis: { labelLimit: 360 } } as const;
  return {
    ...look,
    title: `${plan.name}: spread over seeds, development part`,
    width: 480,
    height: { step: 20 },
    data: { values },
    layer: [
      {
        mark: { type: 'circle', color: blue, opacity: 0.6, size: 50 },
        encoding: {
          y,
          x: { field: 'value', type: 'quantitative', title: aimOf(plan), scale: { zero: false } },
          tooltip: [{ field: 'seed' }, { field: 'value' }],
        },
      },
      {
        mark: { type: 'tick', color: orange, thickness: 3, size: 16 },
        encoding: { y, x: { aggregate: 'mean', field: 'value', type: 'quantitative' } },
      },
    ],
  };
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
