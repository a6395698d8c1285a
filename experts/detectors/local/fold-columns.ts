import type { FoldedRows } from '../../../src/regression/softmax-fitter.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import type { FeatureBlock } from './training-rows.ts';

/*
 * A detector ignores n-grams that no training thread has, and scales the rest of a part to unit length. Training rows
 * contain the n-grams of all folds. N-grams of a row's own fold take up length without having a weight, so a fit
 * without this fold is less sure of the row than of a new thread: by a third at the claim.
 */

interface FoldedFeatures extends Pick<FoldedRows, 'foldOfRow' | 'folds'> {
  readonly features: SparseMatrix;
  readonly blocks: readonly FeatureBlock[];
}

/** Flags, for each fold, every column that a row of another fold has. An encoder's dimensions are always flagged. */
export function columnsOfFolds({ features, blocks, foldOfRow, folds }: FoldedFeatures): Uint8Array[] {
  const { columns, starts, indices } = features;
  return Array.from({ length: folds }, (_, fold) => {
    const flags = new Uint8Array(columns);
    for (const { kind, from, columns: width } of blocks) if (kind === 'embedding') flags.fill(1, from, from + width);
    for (const [row, rowFold] of foldOfRow.entries())
      if (rowFold !== fold) for (let entry = starts[row]; entry < starts[row + 1]; entry++) flags[indices[entry]] = 1;
    return flags;
  });
}

/**
 * The logits of each row by the detector of the other folds, row-major [rows, classes].
 * @param options.weights weights of each fold's fit, [columns, classes]
 */
export function logitsOfNewThreads(
  options: FoldedFeatures & {
    columnsOfFold: readonly Uint8Array[];
    weightsOfFold: readonly Float64Array[];
    classCount: number;
  },
): Float64Array {
  const { blocks, columnsOfFold, weightsOfFold, foldOfRow, classCount } = options;
  const { rows, columns, starts, indices, values } = options.features;
  // The constant belongs to no block.
  const blockOfColumn = new Int32Array(columns).fill(blocks.length);
  for (const [block, { from, columns: width }] of blocks.entries()) blockOfColumn.fill(block, from, from + width);
  const logits = new Float64Array(rows * classCount);
  for (let row = 0; row < rows; row++) {
    const [flags, weights] = [columnsOfFold[foldOfRow[row]], weightsOfFold[foldOfRow[row]]];
    const squares = new Float64Array(blocks.length + 1);
    const seenSquares = new Float64Array(blocks.length + 1);
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const block = blockOfColumn[indices[entry]];
      squares[block] += values[entry] ** 2;
      if (flags[indices[entry]]) seenSquares[block] += values[entry] ** 2;
    }
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const column = indices[entry];
      // Characters without weight have no length.
      if (!flags[column] || values[entry] === 0) continue;
      const block = blockOfColumn[column];
      const value = values[entry] * Math.sqrt(squares[block] / seenSquares[block]);
      for (let label = 0; label < classCount; label++)
        logits[row * classCount + label] += value * weights[column * classCount + label];
    }
  }
  return logits;
}
