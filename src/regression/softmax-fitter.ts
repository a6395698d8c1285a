import { cachedProducts, combinedRows, fitSoftmax, sparseProducts } from './softmax-regression.ts';
import type { SparseMatrix } from './sparse-matrix.ts';

/** A softmax regression of rows. */
export interface FittedRows {
  /** Logits of all rows, including those left out, without the base logits; row-major [rows, classes]. */
  readonly logits: Float64Array;
  /** [columns, classes] */
  readonly weights: () => Float64Array;
}

/** Fits the same rows with these weights, of which 0 leaves a row out, and this penalty. */
export type SoftmaxFitter = (of: { rowWeights: Float64Array; l2: number }) => Promise<FittedRows>;

/** A fit ends when the loss is this close to its minimum, in nats, or at the step limit. */
const ending = { tolerance: 1e-3, maximumSteps: 200 };
/** A limit of memory: inner products of 4,096 rows take 134 MB, and a fit up to as much again. */
const mostInnerProducts = 4096;

/**
 * Fits regressions of one set of rows. Inner products of few rows are computed once, which makes each fit much faster.
 * @param rows.baseLogits logits of each row to which the regression is added; 0 by default
 * @param rows.mostInnerProducts rows above which a fit reads the features in every step
 */
export async function softmaxFitter(rows: {
  features: SparseMatrix;
  /** Row-major [rows, classes]. */
  targets: Float64Array;
  classCount: number;
  baseLogits?: Float64Array | undefined;
  tolerance?: number;
  mostInnerProducts?: number;
  signal?: AbortSignal | undefined;
}): Promise<SoftmaxFitter> {
  const { features, classCount } = rows;
  const settings = { ...ending, ...rows };
  const isSmall = features.rows <= (rows.mostInnerProducts ?? mostInnerProducts);
  const products = isSmall ? await cachedProducts(features) : sparseProducts(features);
  return async ({ rowWeights, l2 }) => {
    const fitted = await fitSoftmax({ ...settings, products, rowWeights: normalise(rowWeights), l2 });
    return {
      logits: fitted.logits,
      weights: () => combinedRows({ features, coefficients: fitted.coefficients, classCount }),
    };
  };
}

/** Rows in folds that are held out in turn. */
export interface FoldedRows {
  readonly rowWeights: Float64Array;
  readonly foldOfRow: Int32Array;
  readonly folds: number;
}

/**
 * Fits the rows without each fold. Each fit starts from zero: the end of another fold's fit would reveal the rows left
 * out.
 * @returns also `heldOut`: the logits of every row by the fit without its fold, row-major [rows, classes]
 */
export async function crossFitted(
  fitRows: SoftmaxFitter,
  { l2, ...rows }: FoldedRows & { l2: number },
): Promise<{ ofFolds: readonly FittedRows[]; heldOut: Float64Array }> {
  const ofFolds: FittedRows[] = [];
  for (let fold = 0; fold < rows.folds; fold++)
    ofFolds.push(await fitRows({ l2, rowWeights: weightsWithout(rows, fold) }));
  const classCount = ofFolds[0].logits.length / rows.foldOfRow.length;
  const ownFit = (index: number) => ofFolds[rows.foldOfRow[Math.floor(index / classCount)]];
  return { ofFolds, heldOut: ofFolds[0].logits.map((_, index) => ownFit(index).logits[index]) };
}

/** The weights of the rows, 0 for those of the fold. */
export function weightsWithout({ rowWeights, foldOfRow }: Omit<FoldedRows, 'folds'>, fold: number): Float64Array {
  return rowWeights.map((weight, row) => (foldOfRow[row] === fold ? 0 : weight));
}

function normalise(weights: Float64Array): Float64Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
