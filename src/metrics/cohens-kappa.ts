/**
 * Cohen's kappa: the agreement of two people beyond what their class shares would give by chance (Cohen 1960). Null
 * without items.
 * @param pairs both classes of each item
 */
export function cohensKappa(pairs: readonly (readonly [string, string])[]): number | null {
  if (pairs.length === 0) return null;
  const shareOf = (holds: (pair: readonly [string, string]) => boolean) => pairs.filter(holds).length / pairs.length;
  const agreed = shareOf(([first, second]) => first === second);
  const byChance = [...new Set(pairs.flat())].reduce(
    (sum, label) => sum + shareOf(([first]) => first === label) * shareOf(([, second]) => second === label),
    0,
  );
  return byChance === 1 ? 1 : (agreed - byChance) / (1 - byChance);
}
