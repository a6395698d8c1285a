import type { FoldedRows } from '../../../src/regression/softmax-fitter.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import type { FeatureBlock } from './training-rows.ts';

/*
 * A detector leaves out n-grams that none of its training threads has, and scales what is left of a part to its length. Training
 * rows hold the n-grams of all folds. Their own n-grams take up length without having a weight, so a fit without their fold is less
 * sure of them than of new threads: at the claim, by a third.
 */

interface FoldedFeatures extends Pick<FoldedRows, 'foldOfRow' | 'folds'> {
  readonly features: SparseMatrix;
  readonly blocks: readonly FeatureBlock[];
}

/** For each fold, 1 for every column that a row of another fold has. An encoder's dimensions are there for all. */
export function columnsOfFolds({ features, blocks, foldOfRow, folds }: FoldedFeatures): Uint8Array[] {
  const { columns, starts, indices } = features;
  return Array.from({ length: folds }, (_, fold) => {
    const seen = new Uint8Array(columns);
    for (const { kind, from, columns: own } of blocks) if (kind === 'embedding') seen.fill(1, from, from + own);
    for (const [row, own] of foldOfRow.entries())
      if (own !== fold) for (let entry = starts[row]; entry < starts[row + 1]; entry++) seen[indices[entry]] = 1;
    return seen;
  });
}

/**
 * What a detector of the other folds says of each row, row-major [rows, classes].
 * @param options.weights of each fold's fit, [columns, classes]
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
  // The constant stands in no block.
  const blockOfColumn = new Int32Array(columns).fill(blocks.length);
  for (const [block, { from, columns: own }] of blocks.entries()) blockOfColumn.fill(block, from, from + own);
  const logits = new Float64Array(rows * classCount);
  for (let row = 0; row < rows; row++) {
    const [seen, weights] = [columnsOfFold[foldOfRow[row]], weightsOfFold[foldOfRow[row]]];
    const squares = new Float64Array(blocks.length + 1);
    const seenSquares = new Float64Array(blocks.length + 1);
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const block = blockOfColumn[indices[entry]];
      squares[block] += values[entry] ** 2;
      if (seen[indices[entry]]) seenSquares[block] += values[entry] ** 2;
    }
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) {
      const column = indices[entry];
      // Characters that weigh nothing have no length.
      if (!seen[column] || values[entry] === 0) continue;
      const block = blockOfColumn[column];
      const value = values[entry] * Math.sqrt(squares[block] / seenSquares[block]);
      for (let label = 0; label < classCount; label++)
        logits[row * classCount + label] += value * weights[column * classCount + label];
    }
  }
  return logits;
}
