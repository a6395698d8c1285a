/** The entries that are present, without false, null, undefined and empty texts. */
export function present<Of>(entries: readonly (Of | false | null | undefined | '')[]): Of[] {
  return entries.filter(
    (entry): entry is Of => entry !== false && entry !== null && entry !== undefined && entry !== '',
  );
}
