import { InputError } from '../errors.ts';

/** A system in the plane of the two aims: ER, lower is better, and macro-F1, higher is better. */
export interface OperatingPoint {
  readonly er: number;
  readonly macroF1: number;
}

/** The points that no other beats in one aim without losing in the other, by rising ER; of equal points the first. */
export function paretoFront<Point extends OperatingPoint>(points: readonly Point[]): Point[] {
  const front: Point[] = [];
  // At equal ER the higher macro-F1 comes first and keeps the others out.
  for (const point of [...points.map(finite)].sort((a, b) => a.er - b.er || b.macroF1 - a.macroF1))
    if (front.length === 0 || point.macroF1 > front[front.length - 1].macroF1) front.push(point);
  return front;
}

/**
 * The area between the staircase of the front and a reference that everything useful beats (hypervolume in two
 * dimensions): 0 where no point beats it, 1 for macro-F1 1 at ER 0 with the default one.
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

export interface Margins {
  /** Macro-F1 above the best other point that decides as early or earlier. */
  readonly overStaircase: number;
  /**
   * The same against mixtures of two other points as well: a rule chosen by coin for each thread. Its ER is the
   * weighted mean exactly; its macro-F1 is taken to be, which is close, for macro-F1 is a ratio of counts.
   */
  readonly overHull: number;
}

/** How far `point` lies above (below, if negative) what the others attain at its ER or less; null if none is as early. */
export function marginToFront(point: OperatingPoint, points: readonly OperatingPoint[]): Margins | null {
  const front = paretoFront(points.filter((other) => other !== point));
  const reached = front.filter(({ er }) => er <= finite(point).er);
  if (reached.length === 0) return null;
  return {
    overStaircase: point.macroF1 - reached[reached.length - 1].macroF1,
    overHull: point.macroF1 - heightOfHull(upperHull(front), point.er),
  };
}

/** The corners of the smallest concave curve over a front: slopes that only fall. */
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

/** Linear between corners, level after the last: nobody has to read on. */
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
