/** The entries that are there: what is false, null, undefined or an empty text is left out. */
export function present<Of>(entries: readonly (Of | false | null | undefined | '')[]): Of[] {
  return entries.filter(
    (entry): entry is Of => entry !== false && entry !== null && entry !== undefined && entry !== '',
  );
}
