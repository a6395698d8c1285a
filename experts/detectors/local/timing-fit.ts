import { minimize, softmaxLoss } from '../../../src/regression/softmax-regression.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import type { Scored } from './calibration.ts';
import { normalised, products } from './row-fitter.ts';

/*
 * The times are fitted after the words, to what these leave open: a softmax regression of the times' columns alone, without a
 * constant, on top of the words' calibrated logits. In one regression with the words the times would explain what the words can,
 * and a claim alone, which has no times, would be judged by poorer words.
 */

/** Chosen on development seeds (docs/decisions/stop-agent.md). */
const l2 = 0.3;
/** In nats; what times bring is a few hundredths. */
const ending = { tolerance: 1e-6, maximumSteps: 200 };

export interface FittedTiming {
  /** Fitted to all rows, [columns, classes]. */
  readonly whole: Float64Array;
  /** Fitted without each fold. */
  readonly ofFolds: readonly Float64Array[];
  /** Of every row, by the fit without its fold, with the words' logits; row-major [rows, classes]. */
  readonly logits: Float64Array;
}

/** @param settings.words calibrated logits of rows by a fit without their fold */
export async function fitTiming(settings: {
  values: SparseMatrix;
  words: Scored;
  foldOfRow: Int32Array;
  folds: number;
  signal?: AbortSignal | undefined;
}): Promise<FittedTiming> {
  const { values, words, foldOfRow, folds, signal } = settings;
  const { targets, rowWeights, classCount } = words;
  const fitted = async (without: number) => {
    const prior = new Float64Array(values.columns * classCount);
    const problem = {
      features: values,
      targets,
      rowWeights: normalised(rowWeights.map((weight, row) => (foldOfRow[row] === without ? 0 : weight))),
      candidates: new Array<boolean>(classCount).fill(true),
      prior,
      l2,
      baseLogits: words.logits,
    };
    const { point } = await minimize({
      start: prior,
      lossAt(weights, gradient) {
        signal?.throwIfAborted();
        return softmaxLoss({ problem, weights, gradient });
      },
      convexity: l2,
      ...ending,
    });
    return point;
  };
  const ofFolds: Float64Array[] = [];
  for (let fold = 0; fold < folds; fold++) ofFolds.push(await fitted(fold));
  const said = ofFolds.map((weights) => products(values, { weights, classCount }));
  return {
    whole: await fitted(-1),
    ofFolds,
    logits: words.logits.map((logit, index) => logit + said[foldOfRow[Math.floor(index / classCount)]][index]),
  };
}
