/** The first of equally likely classes. */
export function likeliest(distribution: Float64Array): number {
  return distribution.indexOf(Math.max(...distribution));
}
