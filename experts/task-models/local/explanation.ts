export interface TellingWord {
  readonly word: string;
  /** The word's addition to the logit of the class, minus its mean addition to the others. */
  readonly margin: number;
}

/** Below this margin, chance collisions of hashed n-grams would become reasons. */
const LEAST_MARGIN = 0.02;

/**
 * The words and cues of a text that support each class most. A word's weight is that of its embedding, scaled to its
 * share in a text of this many words. This is exact if the text is a sum of words of equal length, and close otherwise.
 * @param parts words with their logits, [classes]; a word may occur several times
 */
export function tellingWords(
  parts: readonly { readonly word: string; readonly of: Float64Array }[],
  { share, classCount, wordCount }: { share: number; classCount: number; wordCount: number },
): TellingWord[][] {
  const logitsOf = new Map<string, Float64Array>();
  for (const { word, of } of parts) {
    const sum = logitsOf.get(word) ?? new Float64Array(classCount);
    for (let label = 0; label < classCount; label++) sum[label] += share * of[label];
    logitsOf.set(word, sum);
  }
  return Array.from({ length: classCount }, (_, label) =>
    heaviest(
      Array.from(logitsOf, ([word, logits]) => ({ word, margin: marginOf(logits, label) })),
      wordCount,
    ),
  );
}

/** The words with the largest margins; equal ones in the order of their appearance. */
function heaviest(words: readonly TellingWord[], wordCount: number): TellingWord[] {
  return words
    .filter(({ margin }) => margin >= LEAST_MARGIN)
    .sort((left, right) => right.margin - left.margin)
    .slice(0, wordCount);
}

function marginOf(logits: Float64Array, label: number): number {
  let others = 0;
  for (let index = 0; index < logits.length; index++) if (index !== label) others += logits[index];
  return logits[label] - others / (logits.length - 1);
}

/** A classifier's explanation, which the selector embeds: the words with the largest weights, largest first. */
export function explanationOf(words: readonly TellingWord[], wordCount: number): string {
  const margins = new Map<string, number>();
  for (const { word, margin } of words) margins.set(word, (margins.get(word) ?? 0) + margin);
  const decisive = heaviest(
    Array.from(margins, ([word, margin]) => ({ word, margin })),
    wordCount,
  );
  return decisive.length === 0 ? 'no telling word' : decisive.map(({ word }) => word).join(', ');
}
