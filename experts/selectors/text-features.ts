import { type SparseMatrix, SparseMatrixBuilder, sparseRow } from '../../src/regression/sparse-matrix.ts';
import { fitTfIdf } from '../../src/text/tf-idf.ts';

/**
 * A row for each text: TF-IDF of its words, then a constant.
 * @param fittedOn the texts whose words are columns and whose counts weigh them; the texts themselves unless given
 */
export function textFeatures(texts: readonly string[], fittedOn: readonly string[] = texts): SparseMatrix {
  const tfIdf = fitTfIdf(fittedOn);
  const builder = new SparseMatrixBuilder({ columns: tfIdf.columns + 1 });
  for (const text of texts) {
    builder.addRow({ row: tfIdf.rowOf(text), offset: 0, scale: 1 });
    builder.add(tfIdf.columns, 1);
    builder.endRow();
  }
  return builder.build();
}

/** A row for each vector of an encoder, then a constant. */
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
