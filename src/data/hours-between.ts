/** Hours from the time of a claim to that of a post, never negative; null if either is unknown. */
export function hoursBetween(claim: string | null, post: string | null): number | null {
  if (claim === null || post === null) return null;
  return Math.max(0, (Date.parse(post) - Date.parse(claim)) / 3_600_000);
}
