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

/** The corners of the smallest concave curve above a front: its slopes only fall. */
function upperHull(front: readonly OperatingPoint[]): OperatingPoint[] {
  const hull: OperatingPoint[] = [];
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
