/** Index of the largest number; the first of equal ones. */
export function likeliest(distribution: ArrayLike<number>): number {
  let best = 0;
  for (let index = 1; index < distribution.length; index++) if (distribution[index] > distribution[best]) best = index;
  return best;
}
