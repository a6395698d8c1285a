import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import type { Scored } from './calibration.ts';
import { type FittedRows, fitColumns } from './row-fitter.ts';

/*
 * The times are fitted after the words, to what these leave open: a softmax regression of the times' columns alone, without a
 * constant, on top of the words' calibrated logits. In one regression with the words the times would explain what the words can,
 * and a claim alone, which has no times, would be judged by poorer words.
 */

/** Chosen on development seeds (docs/decisions/stop-agent.md). */
const l2 = 0.3;
/** In nats; what times bring is a few hundredths. */
const tolerance = 1e-6;

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
  const { logits, rowWeights, classCount } = words;
  const fitted = (without: number) =>
    fitColumns({
      ...words,
      features: values,
      rowWeights: rowWeights.map((weight, row) => (foldOfRow[row] === without ? 0 : weight)),
      l2,
      baseLogits: logits,
      tolerance,
      signal,
    });
  const ofFolds: FittedRows[] = [];
  for (let fold = 0; fold < folds; fold++) ofFolds.push(await fitted(fold));
  return {
    whole: (await fitted(-1)).weights(),
    ofFolds: ofFolds.map(({ weights }) => weights()),
    logits: logits.map((logit, index) => logit + ofFolds[foldOfRow[Math.floor(index / classCount)]].logits[index]),
  };
}
