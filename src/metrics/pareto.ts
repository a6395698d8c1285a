/** A system by its two aims: ER, where lower is better, and macro-F1, where higher is better. */
export interface OperatingPoint {
  readonly er: number;
  readonly macroF1: number;
}

/**
 * The points that no other point beats in one aim without losing in the other, by rising ER; the first of equal points.
 */
export function paretoFront<Point extends OperatingPoint>(points: readonly Point[]): Point[] {
  const front: Point[] = [];
  // At equal ER the highest macro-F1 comes first and excludes the others.
  for (const point of points.toSorted((a, b) => a.er - b.er || b.macroF1 - a.macroF1))
    if (front.length === 0 || point.macroF1 > front[front.length - 1].macroF1) front.push(point);
  return front;
}

/** An operating point with its cost. */
export interface PricedPoint extends OperatingPoint {
  /** Queries per thread. */
  readonly queries: number;
}

/** A randomised policy: one rule per thread, drawn from these points by shares that sum to 1. */
export type Mixture<Point> = readonly { readonly point: Point; readonly share: number }[];

/**
 * The mixture of points with the most macro-F1 that, on average, is within `budget`: a linear program, solved by its
 * dual in the price of a query. A mixture's ER and queries are exact; its macro-F1 is close to the weighted mean,
 * because it is a ratio of counts.
 * @param budget.queries Infinity for no limit
 * @returns at most three points; null if no mixture is within the budget
 */
export function bestMixture<Point extends PricedPoint>(
  points: readonly Point[],
  budget: { er: number; queries: number },
): Mixture<Point> | null {
  const sorted = points.toSorted((a, b) => a.er - b.er);
  if (sorted.length === 0 || sorted[0].er > budget.er) return null;
  // At price 0 the best mixture may query too often; at a high price it queries as seldom as any.
  let dear = bestAtPrice(sorted, { ...budget, price: 0 });
  if (meanOf(dear, 'queries') <= budget.queries) return dear;
  let cheap = bestAtPrice(sorted, { ...budget, price: 1e4 });
  if (meanOf(cheap, 'queries') > budget.queries + 1e-9) return null;
  for (;;) {
    const [dearQueries, cheapQueries] = [meanOf(dear, 'queries'), meanOf(cheap, 'queries')];
    const price = (meanOf(dear, 'macroF1') - meanOf(cheap, 'macroF1')) / (dearQueries - cheapQueries);
    const next = bestAtPrice(sorted, { ...budget, price });
    const worth = (mix: Mixture<Point>) => meanOf(mix, 'macroF1') - price * (meanOf(mix, 'queries') - budget.queries);
    if (worth(next) <= worth(cheap) + 1e-12) {
      const share = (budget.queries - cheapQueries) / (dearQueries - cheapQueries);
      const parts = (mix: Mixture<Point>, of: number) => mix.map((part) => ({ ...part, share: of * part.share }));
      return [...parts(dear, share), ...parts(cheap, 1 - share)];
    }
    if (meanOf(next, 'queries') > budget.queries) dear = next;
    else cheap = next;
  }
}

/** The mean of one aim over a mixture. */
export function meanOf(mixture: Mixture<PricedPoint>, aim: keyof PricedPoint): number {
  return mixture.reduce((sum, { point, share }) => sum + share * point[aim], 0);
}

/** The mixture with at most this ER and the most macro-F1 minus the price of its queries. `points` by rising ER. */
function bestAtPrice<Point extends PricedPoint>(
  points: readonly Point[],
  { er, price }: { er: number; price: number },
): Mixture<Point> {
  const priced = points.map((point) => ({ point, er: point.er, macroF1: point.macroF1 - price * point.queries }));
  const hull = upperHull(paretoFront(priced));
  const index = hull.findLastIndex((corner) => corner.er <= er);
  const left = hull[index];
  const right = hull[index + 1];
  if (right === undefined) return [{ point: left.point, share: 1 }];
  const share = (er - left.er) / (right.er - left.er);
  return [
    { point: left.point, share: 1 - share },
    { point: right.point, share },
  ];
}

/**
 * The corners of the smallest concave curve above a front. Mixtures of the points lie on it or below.
 * @param front as `paretoFront` returns it
 */
export function upperHull<Point extends OperatingPoint>(front: readonly Point[]): Point[] {
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
