import type { Interval } from '../../../src/metrics/bootstrap.ts';
import {
  type Chart,
  category,
  dots,
  ink,
  palette,
  paper,
  plotWidth,
  quantity,
  quiet,
  type Spec,
  silent,
} from '../page/chart.ts';
import { legible } from './legible-labels.ts';

/** A system by what it costs and by what it is worth. */
export interface FrontPoint {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly kind: keyof typeof looks;
  /** Facts that stand under its name, one per line. */
  readonly details: string;
  readonly isRecommended?: boolean;
  /** Whether its name may stand in the chart, where there is room. */
  readonly isNamed?: boolean;
  readonly across?: Interval | undefined;
  readonly upright?: Interval | undefined;
}

const looks = {
  trained: { title: 'trained here', colour: palette.vermillion, shape: 'diamond' },
  threshold: { title: 'other thresholds', colour: palette.amber, shape: 'circle' },
  baseline: { title: 'rule or baseline', colour: palette.grey, shape: 'circle' },
  bound: { title: 'out of reach', colour: ink, shape: 'triangle-up' },
} as const;

const height = 260;

/**
 * Systems in the plane of worth and price: names that do not collide, intervals, and the line that no mixture of baselines leaves.
 * @param options.line corners of that line
 */
export function frontChart(
  points: readonly FrontPoint[],
  options: Omit<Chart, 'spec'> & {
    line: readonly { x: number; y: number }[];
    worth?: string;
    price: string;
    isLogarithmic?: boolean;
  },
): Chart {
  const { line, worth = 'macro-F1', price, isLogarithmic = false, ...chart } = options;
  const scale = isLogarithmic ? { type: 'log', base: 2 } : { zero: false };
  const position = {
    x: quantity('x', {
      title: price,
      scale: { nice: false, padding: 14, ...scale },
      axis: { tickCount: 5, ...(isLogarithmic && { format: '~r' }) },
    }),
    y: quantity('y', { title: worth, scale: { zero: false, nice: false, padding: 14 }, axis: { tickCount: 5 } }),
  };
  const kinds = Object.entries(looks).filter(([kind]) => points.some((point) => point.kind === kind));
  const scaleOf = (key: 'colour' | 'shape') => ({
    title: null,
    scale: { domain: kinds.map(([, { title }]) => title), range: kinds.map(([, look]) => look[key]) },
  });
  const color = category('group', scaleOf('colour'));
  const values = points.map((point) => ({
    ...point,
    group: looks[point.kind].title,
    details: `${point.name}\n${point.details}`,
  }));
  const bars = values.flatMap(({ x, y, group, across, upright }) => [
    ...(across === undefined ? [] : [{ group, x: across.low, x2: across.high, y, y2: y }]),
    ...(upright === undefined ? [] : [{ group, x, x2: x, y: upright.low, y2: upright.high }]),
  ]);
  const labels = legible(
    points
      .filter(({ isNamed, isRecommended }) => isNamed || isRecommended)
      .map((point) => ({ ...point, isKept: point.isRecommended === true, isMovable: point.kind !== 'baseline' })),
    points,
    {
      ...{ width: plotWidth, height, isLogarithmic },
      ends: [
        ...line,
        ...bars.flatMap(({ x, x2, y, y2 }) => [
          { x, y },
          { x: x2, y: y2 },
        ]),
      ],
    },
  );
  const names = (outline: object) => nameLayer(position, outline);
  const ends = { x2: { field: 'x2' }, y2: { field: 'y2' } };
  const spec = {
    height,
    layer: [
      { data: { values: line }, ...silent('line', position, { color: palette.grey, strokeDash: [5, 4] }) },
      { data: { values: bars }, ...silent('rule', { ...position, ...ends, color }, { strokeWidth: 2, opacity: 0.7 }) },
      {
        data: { values: values.filter(({ isRecommended }) => isRecommended) },
        ...silent('point', position, { shape: 'circle', size: 380, strokeWidth: 2, color: ink }),
      },
      {
        data: { values: values.toSorted((a, b) => Number(b.kind === 'baseline') - Number(a.kind === 'baseline')) },
        ...dots({ ...position, color, shape: category('group', scaleOf('shape')) }, { size: 60, opacity: 0.85 }),
      },
      // Lines behind a name end at its outline.
      { data: { values: labels }, ...names({ stroke: paper, strokeWidth: 4, strokeJoin: 'round' }) },
      { data: { values: labels }, ...names({}) },
    ],
  };
  return { ...chart, spec };
}

/** Names of points, on the side and in the line where there is room. */
function nameLayer(position: Spec, outline: object) {
  const mark = {
    ...outline,
    align: { expr: "datum.side > 0 ? 'left' : 'right'" },
    dx: { expr: 'datum.dx' },
    dy: { expr: 'datum.dy' },
    fontWeight: { expr: "datum.isRecommended ? 'bold' : 'normal'" },
    fontSize: 12,
    color: quiet,
    limit: plotWidth * 0.62,
  };
  return silent('text', { ...position, text: category('name') }, mark);
}
