const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Where a loss with a single minimum between `low` and `high` is smallest, to within `width`, by golden-section search. */
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
