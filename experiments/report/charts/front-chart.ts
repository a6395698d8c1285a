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

/** A point with a name beside it. */
interface Named extends Place {
  readonly name: string;
  /** Kept whatever stands near; it has a ring around its point. */
  readonly isKept: boolean;
  /** Whether it may stand a line above or below its point; one that is kept may stand further off. */
  readonly isMovable?: boolean;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Where a name stands beside its point. */
interface Beside {
  /** 1: it begins right of the point; −1: it ends left of it. */
  readonly side: 1 | -1;
  /** Pixels from the point: to the right, and below it. */
  readonly dx: number;
  readonly dy: number;
}

/** Pixels of a character, of a line, from a point to its name without a ring and with one, of a point's radius, and around all points. */
const character = 6.8;
const line = 14;
const gap = 10;
const ringGap = 16;
const radius = 4;
const padding = 14;

/**
 * Places names beside points so that none covers another name or a point: on either side, higher or lower. Where there is no room, one
 * that must be kept stands where it covers the fewest points, and others are left out.
 * @param points all that the chart shows
 * @param options.ends further places within the range of the chart, such as the ends of intervals
 */
export function legible<Label extends Named>(
  named: readonly Label[],
  points: readonly Place[],
  options: { width: number; height: number; isLogarithmic: boolean; ends?: readonly Place[] },
): (Label & Beside)[] {
  const { width, height, isLogarithmic, ends = [] } = options;
  const across = (x: number) => (isLogarithmic ? Math.log(Math.max(x, 1e-9)) : x);
  const range = (values: readonly number[]) => ({ low: Math.min(...values), high: Math.max(...values) });
  const all = [...points, ...ends];
  const [xs, ys] = [range(all.map(({ x }) => across(x))), range(all.map(({ y }) => y))];
  const pixel = ({ x, y }: Place) => ({
    x: padding + ((across(x) - xs.low) / (xs.high - xs.low || 1)) * (width - 2 * padding),
    y: padding + (1 - (y - ys.low) / (ys.high - ys.low || 1)) * (height - 2 * padding),
  });
  const obstacles = points.map(pixel);
  const boxOf = (label: Label, { side, dx, dy }: Beside): Box => {
    const at = pixel(label);
    const [near, far] = [at.x + dx, at.x + dx + side * label.name.length * character];
    return { left: Math.min(near, far), right: Math.max(near, far), y: at.y + dy };
  };
  const placed: { readonly box: Box; readonly label: Label & Beside }[] = [];
  for (const label of named.toSorted((a, b) => Number(b.isKept) - Number(a.isKept))) {
    const home = pixel(label).x > width / 2 ? -1 : 1;
    const away = label.isKept ? ringGap : gap;
    const besideAt = (side: 1 | -1, lines: number): Beside => ({ side, dx: side * away, dy: lines * line });
    const places = (label.isKept ? manyLines : label.isMovable ? fewLines : [0])
      .flatMap((lines) => [besideAt(home, lines), besideAt(home === 1 ? -1 : 1, lines)])
      .map((beside) => ({ beside, box: boxOf(label, beside) }))
      .filter(({ box }) => box.left >= 0 && box.right <= width && box.y >= line / 2 && box.y <= height - line / 2)
      .filter(({ box }) => placed.every((other) => !overlaps(box, other.box)))
      .map((label) => ({ ...label, covered: obstacles.filter((point) => covers(label.box, point)).length }));
    const best = places.toSorted((a, b) => a.covered - b.covered)[0];
    if (best === undefined || (best.covered > 0 && !label.isKept)) {
      if (!label.isKept) continue;
      const beside = besideAt(home, 0);
      placed.push({ box: boxOf(label, beside), label: { ...label, ...beside } });
    } else placed.push({ box: best.box, label: { ...label, ...best.beside } });
  }
  return placed.map(({ label }) => label);
}

/** How many lines below its point a name may stand, the nearest first. */
const fewLines = [0, -1, 1];
const manyLines = [...fewLines, -2, 2, -3, 3, -4, 4];

interface Box {
  readonly left: number;
  readonly right: number;
  /** The middle of the line. */
  readonly y: number;
}

function overlaps(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && Math.abs(one.y - other.y) < line;
}

function covers({ left, right, y }: Box, point: Place): boolean {
  // The width of a name is rather over- than underestimated.
  return point.x > left && point.x < right && Math.abs(point.y - y) < line / 2 + radius;
}
