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

/**
 * Term frequency times inverse document frequency, idf(w) = ln((1 + n) / (1 + n_w)) + 1, as scikit-learn's TfidfVectorizer has it
 * by default (https://scikit-learn.org/stable/modules/feature_extraction.html#tfidf-term-weighting), over `wordsOf`.
 */
export function fitTfIdf(texts: readonly string[]): TfIdf {
  const textsWith = new Map<string, number>();
  for (const text of texts)
    for (const word of new Set(wordsOf(text))) textsWith.set(word, (textsWith.get(word) ?? 0) + 1);
  const columnOf = new Map(Array.from(textsWith.keys(), (word, column) => [word, column]));
  const idf = Float64Array.from(textsWith.values(), (count) => Math.log((1 + texts.length) / (1 + count)) + 1);
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
