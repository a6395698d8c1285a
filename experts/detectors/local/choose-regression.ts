import { type ReplyScale, replyLength } from '../../../src/data/prefix-model.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import { fitTemperature, logLoss, rowLosses, type Scored } from './calibration.ts';
import { type FittedRows, type RowFitter, rowFitter } from './row-fitter.ts';
import { replyUnits, type TrainingRows } from './training-rows.ts';

/** What cross-validation chooses of a local detector. */
export interface Choices {
  readonly characterWeight: number;
  readonly replyScale: ReplyScale;
  readonly l2: number;
}

/** A regression of all rows, with those of its cross-validation. */
export interface ChosenRegression extends Choices {
  readonly whole: FittedRows;
  /** Fitted without each fold. */
  readonly ofFolds: readonly FittedRows[];
  /** Of every row, by the fit without its fold, before the temperature. */
  readonly scored: Scored;
  readonly temperature: number;
  /** Of the held-out rows after the temperature, in nats. */
  readonly loss: number;
}

type Candidate = Omit<ChosenRegression, 'whole'> & { readonly fitRows: RowFitter };

/**
 * Chooses by the held-out loss after calibration: first the weight of the characters at the middle penalty, then the penalty, then
 * the weight of the replies. One of these takes the place of one before it only where it is better by more than a standard error
 * over threads: most sets cannot tell them apart, and a choice among equals is noise.
 * @param options.targets row-major [rows, classes]; a row adds up to 1
 * @param options.rowWeights 0 leaves a row out
 */
export async function chooseRegression(options: {
  rows: TrainingRows;
  targets: Float64Array;
  rowWeights: Float64Array;
  classCount: number;
  foldOfRow: Int32Array;
  folds: number;
  characterWeights: readonly number[];
  replyScales: readonly ReplyScale[];
  l2: readonly number[];
  onProgress?: ((progress: { done: number; total: number }) => void) | undefined;
  signal?: AbortSignal | undefined;
}): Promise<ChosenRegression> {
  const { rows, targets, rowWeights, classCount, foldOfRow, folds, characterWeights, onProgress, signal } = options;
  const [firstScale, ...otherScales] = options.replyScales;
  const penalties = options.l2.toSorted((left, right) => left - right);
  const [middle] = penalties.splice((penalties.length - 1) >> 1, 1);
  const total = (characterWeights.length + penalties.length + otherScales.length) * folds + 1;
  let done = 0;

  const fitted = async ({ fitRows, l2, without }: Pick<Candidate, 'fitRows' | 'l2'> & { without: number }) => {
    signal?.throwIfAborted();
    const own = await fitRows({
      l2,
      rowWeights: rowWeights.map((weight, row) => (foldOfRow[row] === without ? 0 : weight)),
    });
    onProgress?.({ done: ++done, total });
    return own;
  };
  const candidate = async (own: Choices & { fitRows: RowFitter }): Promise<Candidate> => {
    const ofFolds: FittedRows[] = [];
    // From nothing: a fit that began where that of another fold ended would know the threads left out.
    for (let fold = 0; fold < folds; fold++) ofFolds.push(await fitted({ ...own, without: fold }));
    const logits = Float64Array.from(
      targets,
      (_, index) => ofFolds[foldOfRow[Math.floor(index / classCount)]].logits[index],
    );
    const scored = { logits, targets, rowWeights, classCount };
    const temperature = fitTemperature(scored);
    return { ...own, ofFolds, scored, temperature, loss: logLoss(scored, temperature) };
  };
  const fitterOf = (weights: Pick<Choices, 'characterWeight' | 'replyScale'>) =>
    rowFitter({ features: weighted(rows, weights), targets, classCount, signal });

  let best: Candidate | null = null;
  for (const characterWeight of characterWeights) {
    const weights = { characterWeight, replyScale: firstScale };
    const own = await candidate({ ...weights, l2: middle, fitRows: await fitterOf(weights) });
    if (best === null || own.loss < best.loss) best = own;
  }
  if (best === null) throw new Error('there is nothing to choose from');
  for (const l2 of penalties) {
    const own: Candidate = await candidate({ ...best, l2 });
    if (own.loss < best.loss) best = own;
  }
  for (const replyScale of otherScales) {
    const weights: Pick<Choices, 'characterWeight' | 'replyScale'> = { ...best, replyScale };
    const own: Candidate = await candidate({ ...best, ...weights, fitRows: await fitterOf(weights) });
    if (isMeasurablyBetter(own, best, rows.threadOfRow)) best = own;
  }
  return { ...best, whole: await fitted({ ...best, without: -1 }) };
}

/** Whether the mean loss of a thread is lower by more than the standard error of the difference. */
function isMeasurablyBetter(own: Candidate, other: Candidate, threadOfRow: Int32Array): boolean {
  const losses = [own, other].map(({ scored, temperature }) => rowLosses(scored, temperature));
  const gains = new Float64Array(threadOfRow[threadOfRow.length - 1] + 1);
  for (const [row, thread] of threadOfRow.entries())
    gains[thread] += own.scored.rowWeights[row] * (losses[1][row] - losses[0][row]);
  const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
  const squares = gains.reduce((sum, gain) => sum + (gain - mean) ** 2, 0);
  return mean > Math.sqrt(squares / (gains.length - 1) / gains.length);
}

/** The rows with the character n-grams and the replies weighed. */
function weighted(
  { features, blocks, lengthOfRow }: TrainingRows,
  { characterWeight, replyScale }: Pick<Choices, 'characterWeight' | 'replyScale'>,
): SparseMatrix {
  const factors = new Float32Array(features.columns).fill(1);
  const isReply = new Uint8Array(features.columns);
  for (const { part, kind, from, columns } of blocks) {
    if (kind === 'characters') factors.fill(characterWeight, from, from + columns);
    if (part === 'replies') isReply.fill(1, from, from + columns);
  }
  const values = features.values.slice();
  for (const [row, length] of lengthOfRow.entries()) {
    const ofReplies = replyUnits[replyScale] * replyLength(replyScale, length - 1);
    for (let entry = features.starts[row]; entry < features.starts[row + 1]; entry++) {
      const column = features.indices[entry];
      values[entry] *= factors[column] * (isReply[column] === 1 ? ofReplies : 1);
    }
  }
  return { ...features, values };
}
