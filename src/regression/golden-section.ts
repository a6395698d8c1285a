const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** The minimum between `low` and `high` of a loss with a single one, to within `width`, by golden-section search. */
export function goldenSection(options: {
  low: number;
  high: number;
  width: number;
  lossAt: (value: number) => number;
}): number {
  const { width, lossAt } = options;
  let { low, high } = options;
  while (high - low > width) {
    const left = high - GOLDEN * (high - low);
    const right = low + GOLDEN * (high - low);
    if (lossAt(left) < lossAt(right)) high = right;
    else low = left;
  }
  return (low + high) / 2;
}
