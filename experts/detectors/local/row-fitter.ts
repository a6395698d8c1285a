import { combinedRows, fitKernelSoftmax, innerProducts } from '../../../src/regression/kernel-softmax.ts';
import { addLogits, minimize, softmaxLoss } from '../../../src/regression/softmax-regression.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';

/** A softmax regression of the rows. */
export interface FittedRows {
  /** What it says of each row, those left out included; row-major [rows, classes]. */
  readonly logits: Float64Array;
  /** [columns, classes] */
  readonly weights: () => Float64Array;
}

/** Fits the same rows with these weights, of which 0 leaves a row out, and this penalty. */
export type RowFitter = (of: { rowWeights: Float64Array; l2: number }) => Promise<FittedRows>;

/** A fit ends when the loss is this close to its minimum, in nats, or after so many steps. */
const ending = { tolerance: 1e-3, maximumSteps: 200 };
/** Inner products of more rows would take too much memory: of 4,096 they take 134 MB, and up to as much again in a fit. */
const mostInnerProducts = 4096;

/**
 * Regressions of one set of rows. Few rows are read once, for their inner products, after which a fit takes a small part of the
 * time that it takes with all columns. Both ways find the same regression.
 */
export async function rowFitter(rows: {
  features: SparseMatrix;
  /** Row-major [rows, classes]. */
  targets: Float64Array;
  classCount: number;
  signal?: AbortSignal | undefined;
}): Promise<RowFitter> {
  const { features, classCount } = rows;
  if (features.rows > mostInnerProducts) return (of) => fitColumns({ ...rows, ...of });
  const products = await innerProducts(features);
  return async ({ rowWeights, l2 }) => {
    const { coefficients, logits } = await fitKernelSoftmax({
      ...rows,
      ...ending,
      products,
      rowWeights: normalised(rowWeights),
      l2,
    });
    return { logits, weights: () => combinedRows({ features, coefficients, classCount }) };
  };
}

/**
 * The same with all columns.
 * @param options.baseLogits of each row, to which what is fitted is added; 0 unless given
 * @param options.tolerance in nats
 */
export async function fitColumns(
  options: Parameters<RowFitter>[0] &
    Parameters<typeof rowFitter>[0] & { baseLogits?: Float64Array; tolerance?: number },
): Promise<FittedRows> {
  const { features, targets, classCount, l2, signal, baseLogits, tolerance = ending.tolerance } = options;
  const prior = new Float64Array(features.columns * classCount);
  const problem = {
    features,
    targets,
    rowWeights: normalised(options.rowWeights),
    candidates: new Array<boolean>(classCount).fill(true),
    prior,
    l2,
    ...(baseLogits && { baseLogits }),
  };
  const { point } = await minimize({
    start: prior,
    lossAt(weights, gradient) {
      signal?.throwIfAborted();
      return softmaxLoss({ problem, weights, gradient });
    },
    convexity: l2,
    ...ending,
    tolerance,
  });
  return { logits: products(features, { weights: point, classCount }), weights: () => point };
}

function normalised(weights: Float64Array): Float64Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** What weights [columns, classes] say of each row; row-major [rows, classes]. */
function products(
  features: SparseMatrix,
  { weights, classCount }: { weights: Float64Array; classCount: number },
): Float64Array {
  const logits = new Float64Array(features.rows * classCount);
  for (let row = 0; row < features.rows; row++)
    addLogits(logits.subarray(row * classCount, (row + 1) * classCount), { features, row, weights });
  return logits;
}
