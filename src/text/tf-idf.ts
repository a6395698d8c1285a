import { wordsOf } from './word-set.ts';

/** The non-zero entries of a vector, by increasing index. */
interface Row {
  readonly indices: Int32Array;
  readonly values: Float32Array;
}

export interface TfIdf {
  /** How many different words the texts that it was fitted to have. */
  readonly columns: number;
  /** Count of each known word times its idf, of Euclidean length 1; no entry where no word is known. */
  rowOf(text: string): Row;
}

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

/** Term frequency times inverse document frequency, over `wordsOf`. */
export function fitTfIdf(texts: readonly string[]): TfIdf {
  const { documents, of } = documentFrequencies(texts.map(wordsOf));
  const columnOf = new Map(Array.from(of.keys(), (word, column) => [word, column]));
  const idf = Float64Array.from(of.values(), (count) => inverseDocumentFrequency(documents, count));
  return {
    columns: columnOf.size,
    rowOf(text) {
      const weights = new Map<number, number>();
      for (const word of wordsOf(text)) {
        const column = columnOf.get(word);
        if (column !== undefined) weights.set(column, (weights.get(column) ?? 0) + idf[column]);
      }
      const length = Math.hypot(...weights.values());
      const indices = Int32Array.from(weights.keys()).sort();
      return { indices, values: Float32Array.from(indices, (column) => (weights.get(column) ?? 0) / length) };
    },
  };
}
