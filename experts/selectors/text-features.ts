import { type SparseMatrix, SparseMatrixBuilder, sparseRow } from '../../src/regression/sparse-matrix.ts';
import { documentFrequencies, inverseDocumentFrequency } from '../../src/text/tf-idf.ts';
import { wordsOf } from '../../src/text/word-set.ts';

/**
 * A row per text: each word's count times its idf, of Euclidean length 1, then a constant.
 * @param fittedOn the texts that define the columns and idf; `texts` by default
 */
export function textFeatures(texts: readonly string[], fittedOn: readonly string[] = texts): SparseMatrix {
  const { documents, of } = documentFrequencies(fittedOn.map(wordsOf));
  const columnOf = new Map(Array.from(of.keys(), (word, column) => [word, column]));
  const idf = Float64Array.from(of.values(), (count) => inverseDocumentFrequency(documents, count));
  const builder = new SparseMatrixBuilder({ columns: of.size + 1 });
  for (const text of texts) {
    const weights = new Map<number, number>();
    for (const word of wordsOf(text)) {
      const column = columnOf.get(word);
      if (column !== undefined) weights.set(column, (weights.get(column) ?? 0) + idf[column]);
    }
    const length = Math.hypot(...weights.values());
    for (const [column, weight] of [...weights].sort(([left], [right]) => left - right))
      builder.add(column, weight / length);
    builder.add(of.size, 1);
    builder.endRow();
  }
  return builder.build();
}

/** A row per vector of an encoder, then a constant. */
export function vectorFeatures(vectors: Float32Array, dimensions: number): SparseMatrix {
  const dense = Int32Array.from({ length: dimensions }, (_, index) => index);
  const builder = new SparseMatrixBuilder({ columns: dimensions + 1 });
  for (let start = 0; start < vectors.length; start += dimensions) {
    builder.addRow({
      row: sparseRow({ vector: vectors.subarray(start, start + dimensions), dense }),
      offset: 0,
      scale: 1,
    });
    builder.add(dimensions, 1);
    builder.endRow();
  }
  return builder.build();
}
