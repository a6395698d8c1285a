/** In how many documents each word stands. */
export interface DocumentFrequencies {
  readonly documents: number;
  readonly of: ReadonlyMap<string, number>;
}

/** @param documents the words of each */
export function documentFrequencies(documents: Iterable<Iterable<string>>): DocumentFrequencies {
  const of = new Map<string, number>();
  let count = 0;
  for (const words of documents) {
    count++;
    for (const word of new Set(words)) of.set(word, (of.get(word) ?? 0) + 1);
  }
  return { documents: count, of };
}

/**
 * ln((1 + n) / (1 + n_w)) + 1, as scikit-learn's TfidfVectorizer has it by default
 * (https://scikit-learn.org/stable/modules/feature_extraction.html#tfidf-term-weighting).
 */
export function inverseDocumentFrequency(documents: number, documentsWith: number): number {
  return Math.log((1 + documents) / (1 + documentsWith)) + 1;
}
