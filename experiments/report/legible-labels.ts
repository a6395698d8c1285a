/** A point with a name beside it. */
interface Named {
  readonly x: number;
  readonly y: number;
  /** Kept whatever stands near. */
  readonly isKept: boolean;
}

/** Of names beside points those that do not stand on one another. `points` are all that the chart shows. */
export function legible<Label extends Named>(
  named: readonly Label[],
  points: readonly { x: number; y: number }[],
): Label[] {
  const spread = (of: (point: { x: number; y: number }) => number) =>
    Math.max(...points.map(of)) - Math.min(...points.map(of)) || 1;
  const [width, height] = [spread(({ x }) => x), spread(({ y }) => y)];
  const kept: Label[] = [];
  for (const own of named.toSorted((a, b) => Number(b.isKept) - Number(a.isKept))) {
    const isNear = (other: Label) =>
      Math.abs(other.x - own.x) < 0.3 * width && Math.abs(other.y - own.y) < 0.07 * height;
    if (own.isKept || !kept.some(isNear)) kept.push(own);
  }
  return kept;
}
