/** The number of documents with each word. */
export interface DocumentFrequencies {
  readonly documents: number;
  readonly of: ReadonlyMap<string, number>;
}

/** @param documents the words of each document */
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
 * ln((1 + n) / (1 + n_w)) + 1, the default of scikit-learn's TfidfVectorizer
 * (https://scikit-learn.org/stable/modules/feature_extraction.html#tfidf-term-weighting).
 */
export function inverseDocumentFrequency(documents: number, documentsWith: number): number {
  return Math.log((1 + documents) / (1 + documentsWith)) + 1;
}
