import { InputError } from '../errors.ts';

/** A system by its two aims: ER, where lower is better, and macro-F1, where higher is better. */
export interface OperatingPoint {
  readonly er: number;
  readonly macroF1: number;
}

/**
 * The points that no other point beats in one aim without losing in the other, by rising ER. Of equal points the first.
 * @throws InputError for a point that is not finite
 */
export function paretoFront<Point extends OperatingPoint>(points: readonly Point[]): Point[] {
  const front: Point[] = [];
  // At equal ER the highest macro-F1 comes first and keeps the others out.
  for (const point of [...points.map(finite)].sort((a, b) => a.er - b.er || b.macroF1 - a.macroF1))
    if (front.length === 0 || point.macroF1 > front[front.length - 1].macroF1) front.push(point);
  return front;
}

/**
 * The area between the front's staircase and a reference point that everything useful beats: the hypervolume in two
 * dimensions. 0 if no point beats the reference; with the default one, 1 for macro-F1 1 at ER 0.
 * @throws InputError for a point that is not finite
 */
export function dominatedArea(
  points: readonly OperatingPoint[],
  reference: OperatingPoint = { er: 1, macroF1: 0 },
): number {
  const front = paretoFront(points).filter(({ er, macroF1 }) => er < reference.er && macroF1 > reference.macroF1);
  let area = 0;
  for (const [index, { er, macroF1 }] of front.entries()) {
    const nextEr = front[index + 1]?.er ?? reference.er;
    area += (nextEr - er) * (macroF1 - reference.macroF1);
  }
  return area;
}

/** How far a point is above what others attain at its ER; negative if below. */
export interface Margins {
  /** Macro-F1 above the best other point that decides as early or earlier. */
  readonly overStaircase: number;
  /**
   * The same, but also against mixtures of two other points, which choose between two rules by coin for each thread.
   * The ER of a mixture is exactly the weighted mean. Its macro-F1 is only close to that, because it is a ratio of
   * counts.
   */
  readonly overHull: number;
}

/**
 * How far `point` is above what the other points attain at its ER or less; negative if it is below.
 * @param points may contain `point` itself, which is left out
 * @returns null if no other point is as early
 * @throws InputError for a point that is not finite
 */
export function marginToFront(point: OperatingPoint, points: readonly OperatingPoint[]): Margins | null {
  const front = paretoFront(points.filter((other) => other !== point));
  const reached = front.filter(({ er }) => er <= finite(point).er);
  if (reached.length === 0) return null;
  return {
    overStaircase: point.macroF1 - reached[reached.length - 1].macroF1,
    overHull: point.macroF1 - heightOfHull(upperHull(front), point.er),
  };
}

/** An operating point and what it asks of the detector. */
export interface PricedPoint extends OperatingPoint {
  /** Calls a thread. */
  readonly calls: number;
}

/**
 * How far `point` is above every mixture of other points that, on average, is as early and asks as seldom: a linear
 * program, solved by its dual in the price of a call. A mixture chooses a rule by chance for each thread.
 * @param points may contain `point` itself, which is left out
 * @returns negative if it is below; null if no mixture is as early and as cheap
 * @throws InputError for a point that is not finite
 */
export function marginWithin(point: PricedPoint, points: readonly PricedPoint[]): number | null {
  const { er, calls } = finite(point);
  const others = points.filter((other) => other !== point).sort((a, b) => a.er - b.er);
  if (others.length === 0 || others[0].er > er) return null;
  // At a price of 0 for each call beyond the budget the best mixture may ask too often; at a high price it asks least.
  let dear = bestMixture(others, { er, calls, price: 0 });
  if (dear.calls <= calls) return point.macroF1 - dear.macroF1;
  let cheap = bestMixture(others, { er, calls, price: 1e4 });
  if (cheap.calls > calls + 1e-9) return null;
  for (;;) {
    const price = (dear.macroF1 - cheap.macroF1) / (dear.calls - cheap.calls);
    const between = cheap.macroF1 - price * (cheap.calls - calls);
    const next = bestMixture(others, { er, calls, price });
    if (next.macroF1 - price * (next.calls - calls) <= between + 1e-12) return point.macroF1 - between;
    if (next.calls > calls) dear = next;
    else cheap = next;
  }
}

interface Mixture {
  readonly macroF1: number;
  readonly calls: number;
}

/** Of all mixtures with at most this ER the one with the most macro-F1 less the price of its calls. `points` by rising ER. */
function bestMixture(
  points: readonly PricedPoint[],
  { er, calls, price }: { er: number; calls: number; price: number },
): Mixture {
  const priced = points.map((point) => ({
    point,
    er: point.er,
    macroF1: point.macroF1 - price * (point.calls - calls),
  }));
  const hull = upperHull(paretoFront(priced));
  const index = hull.findLastIndex((corner) => corner.er <= er);
  const left = hull[index];
  const right = hull[index + 1];
  if (right === undefined) return left.point;
  const share = (er - left.er) / (right.er - left.er);
  return {
    macroF1: left.point.macroF1 + share * (right.point.macroF1 - left.point.macroF1),
    calls: left.point.calls + share * (right.point.calls - left.point.calls),
  };
}

/** The corners of the smallest concave curve above a front: its slopes only fall. */
function upperHull<Point extends OperatingPoint>(front: readonly Point[]): Point[] {
  const hull: Point[] = [];
  for (const point of front) {
    while (hull.length >= 2 && !liesAbove(hull[hull.length - 1], hull[hull.length - 2], point)) hull.pop();
    hull.push(point);
  }
  return hull;
}

function liesAbove(middle: OperatingPoint, left: OperatingPoint, right: OperatingPoint): boolean {
  return (
    (middle.macroF1 - left.macroF1) * (right.er - left.er) > (right.macroF1 - left.macroF1) * (middle.er - left.er)
  );
}

/** Linear between corners and level after the last, because no system has to read on. */
function heightOfHull(hull: readonly OperatingPoint[], er: number): number {
  const index = hull.findLastIndex((corner) => corner.er <= er);
  const left = hull[index];
  const right = hull[index + 1];
  if (right === undefined) return left.macroF1;
  return left.macroF1 + ((er - left.er) / (right.er - left.er)) * (right.macroF1 - left.macroF1);
}

function finite<Point extends OperatingPoint>(point: Point): Point {
  if (Number.isFinite(point.er) && Number.isFinite(point.macroF1)) return point;
  throw new InputError(
    `a point with ER ${point.er} and macro-F1 ${point.macroF1} cannot be placed; give finite numbers`,
  );
}
