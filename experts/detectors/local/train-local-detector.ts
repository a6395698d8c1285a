import { z } from 'zod';
import { checked } from '../../../src/checked.ts';
import { sha256OfText } from '../../../src/content-hash.ts';
import type { Task } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { stratifiedFolds } from '../../../src/metrics/stratified-folds.ts';
import {
  fitClassOffsets,
  fitLengthCalibration,
  fitTemperature,
  logLoss,
  type ScoredRows,
} from '../../../src/regression/calibration.ts';
import {
  crossFitted,
  type FittedRows,
  type FoldedRows,
  type SoftmaxFitter,
  softmaxFitter,
} from '../../../src/regression/softmax-fitter.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { ngramVersion } from '../../../src/text/ngram-counts.ts';
import { columnsOfFolds, logitsOfNewThreads } from './fold-columns.ts';
import { heldOutTruth } from './held-out.ts';
import { type FittedModel, LocalDetector } from './local-detector.ts';
import { type SavedWeights, savedWeights } from './saved-weights.ts';
import { countByLabel, type Target, type TargetOf, trainingThreads } from './training-labels.ts';
import { loneClaimWeight, ngramLengths, type TrainingRows, trainingRows } from './training-rows.ts';

/** Raised when the same threads and options could train another detector. */
export const localTrainingVersion = 5;

export const localDetectorOptionsSchema = z
  .strictObject({
    encoder: encoderSchema
      .nullable()
      .default(null)
      .describe('reads the posts, too, beside their n-grams: a sentence encoder may help; null for n-grams alone'),
    maxPosts: z.int().min(1).default(500).describe('most posts read of a training thread'),
    timing: z
      .boolean()
      .optional()
      .describe('reads how fast the replies come, too: for threads with times, if those to be judged have them, too'),
    characterWeights: z
      .array(z.number().min(0))
      .min(1)
      .default([0.5, 1, 1.5])
      .describe('weights of character n-grams beside 1 for words, to choose from by cross-validation'),
    l2: z
      .array(z.number().positive())
      .min(1)
      .default([3e-5, 3e-4, 3e-3])
      .describe('penalties to choose from by cross-validation'),
    folds: z.int().min(2).default(5).describe('folds of the cross-validation'),
  })
  .describe('the local detector: TF-IDF of words and characters and a logistic regression, trained here');

export type LocalDetectorOptions = z.infer<typeof localDetectorOptionsSchema>;

export interface LocalTraining {
  threads: readonly Thread[];
  task: Task;
  options?: z.input<typeof localDetectorOptionsSchema>;
  seed: number;
  /**
   * The training target of a prefix; the thread's gold label by default. A student of another detector learns from its
   * judgements and gets no offsets.
   */
  targetOf?: TargetOf;
  /** An encoder instead of `options.encoder`, for example one that stores its embeddings. */
  encoder?: Encoder;
  onProgress?: ((progress: { done: number; total: number }) => void) | undefined;
  signal?: AbortSignal;
}

/**
 * Trains on prefixes of labelled threads that no later stage uses. Every thread has the same weight, whatever its
 * length. Penalty and character weight minimise the held-out loss after calibration. The temperature and then an offset
 * per class (to macro-F1) are fitted to held-out predictions. Times are added last, so a claim alone gets the same
 * label with or without them. Finally, the probabilities are calibrated by prefix length. Needs no tensors.
 * @throws InputError if a label has fewer than two training threads
 */
export async function trainLocalDetector(settings: LocalTraining): Promise<LocalDetector> {
  return (await trainCrossFitted(settings)).whole;
}

/** A detector and those of its cross-validation, with shared features, temperature, offsets and calibration. */
export interface CrossFittedDetectors {
  /** Trained on all threads. */
  readonly whole: LocalDetector;
  /** One detector per fold, trained without it and without n-grams of it alone, as for new threads. */
  readonly folds: readonly LocalDetector[];
  /** The mean of the folds' weights, and nearly of their logits, apart from n-grams that a fold lacks. */
  readonly mean: LocalDetector;
  /** The held-out fold of each training thread, by thread id. */
  readonly foldOf: ReadonlyMap<string, number>;
}

/** Trains like `trainLocalDetector`, and keeps the detectors of the cross-validation. */
export async function trainCrossFitted(settings: LocalTraining): Promise<CrossFittedDetectors> {
  const { task, seed, targetOf, signal } = settings;
  const options = checked(localDetectorOptionsSchema, settings.options ?? {}, "the local detector's options are wrong");
  const { threads, labels } = trainingThreads(settings);
  const encoder = options.encoder === null ? null : (settings.encoder ?? (await createEncoder(options.encoder)));
  const rows = await trainingRows({ threads, encoder, maxPosts: options.maxPosts, timing: options.timing });
  if (rows.timing?.scale.deviations.slice(1).every((deviation) => deviation === 0))
    throw new InputError(
      `the local detector is to read times (timing: true), and the replies of its ${threads.length} training threads have none that differ; give posts a "time", or leave timing out`,
    );
  const counts = countByLabel({ task, labels });
  const folds = Math.min(options.folds, ...Object.values(counts));
  const random = Random.seeded({ seed, purpose: 'local detector folds' });
  const foldOfThread = stratifiedFolds({ classes: labels, folds, random });
  const targets = Array.from(rows.threadOfRow, (thread, row) =>
    targetOf === undefined ? labels[thread] : targetOf(threads[thread], rows.lengthOfRow[row]),
  );
  const training = { rows, ...weightedTargets(targets, { rows, classCount: task.labels.length }) };
  const folded = { rowWeights: training.rowWeights, foldOfRow: rows.threadOfRow.map((of) => foldOfThread[of]), folds };

  const { best, whole } = await chooseFit({ ...settings, options, ...training, folded });
  const { temperature, characterWeight, l2 } = best;
  const words = { ...training, logits: best.heldOut.map((logit) => logit / temperature) };
  const timing = rows.timing === null ? null : await fitTiming({ values: rows.timing.values, words, folded, signal });
  const scored = { ...words, logits: timing?.logits ?? words.logits };

  // A student keeps its detector's confidence and has no labels to be measured by. Times change no offset, or claims
  // alone would suffer.
  const offsetsOf = (of: ScoredRows) =>
    targetOf === undefined ? fitClassOffsets({ ...of, logits: words.logits }) : task.labels.map(() => 0);
  const offsets = offsetsOf(words);

  const { classCount } = training;
  const foldedRows = { ...rows, ...folded, features: weighCharacters(rows, characterWeight) };
  const columnsOfFold = columnsOfFolds(foldedRows);
  const weightsOfFold = best.ofFolds.map(({ weights }) => weights());
  const unseen = logitsOfNewThreads({ ...foldedRows, columnsOfFold, weightsOfFold, classCount });
  const added = (index: number) => scored.logits[index] - words.logits[index] + offsets[index % classCount];
  const judged = unseen.map((logit, index) => logit / temperature + added(index));
  const calibration = fitLengthCalibration({ scored: { ...training, logits: judged }, lengths: rows.lengthOfRow });
  const model: Omit<FittedModel, keyof SavedWeights> = {
    format: 'earshot-local-detector',
    formatVersion: 3,
    task: task.name,
    labels: [...task.labels],
    encoder: encoder === null ? null : { ...encoder.identity },
    ngrams: { version: ngramVersion, ...ngramLengths },
    loneClaimWeight,
    temperature,
    offsets,
    calibration,
    training: {
      seed,
      threads: counts,
      threadIdsSha256: sha256OfText(threads.map((thread) => `${thread.id}\n`).join('')),
      rows: targets.length,
      l2,
      characterWeight,
      heldOutLogLoss: logLoss(scored),
      heldOut: heldOutTruth({ scored, rows, ...folded, offsetsOf, labels: task.labels, threads }),
    },
  };
  const detectorWith = (of: { weights: Float64Array; timingWeights: Float64Array | null; seenColumns?: Uint8Array }) =>
    new LocalDetector({ encoder, model: { ...model, ...savedWeights({ ...best, ...of, rows, classCount }) } });
  return {
    whole: detectorWith({ weights: whole.weights(), timingWeights: timing?.whole ?? null }),
    // Most callers need `whole` alone, and writing a detector of many n-grams takes longer than fitting it.
    get folds() {
      return weightsOfFold.map((weights, fold) =>
        detectorWith({ weights, timingWeights: timing?.ofFolds[fold] ?? null, seenColumns: columnsOfFold[fold] }),
      );
    },
    get mean() {
      return detectorWith({
        weights: meanOf(weightsOfFold),
        timingWeights: timing === null ? null : meanOf(timing.ofFolds),
      });
    },
    foldOf: new Map(threads.map(({ id }, index) => [id, foldOfThread[index]])),
  };
}

function meanOf(all: readonly Float64Array[]): Float64Array {
  const sum = new Float64Array(all[0].length);
  for (const values of all) for (const [index, value] of values.entries()) sum[index] += value;
  return sum.map((value) => value / all.length);
}

/** Targets [rows, classes] and weights of rows: 0 without a target; a thread's rows weigh 1 together. */
function weightedTargets(
  targetOfRow: readonly Target[],
  { rows: { threadOfRow }, classCount }: { rows: TrainingRows; classCount: number },
): Omit<ScoredRows, 'logits'> {
  const targets = new Float64Array(targetOfRow.length * classCount);
  const rowsOfThread = new Map<number, number>();
  for (const [row, target] of targetOfRow.entries()) {
    rowsOfThread.set(threadOfRow[row], (rowsOfThread.get(threadOfRow[row]) ?? 0) + 1);
    if (typeof target === 'number' || target === null) targets[row * classCount + (target ?? 0)] = 1;
    else targets.set(target, row * classCount);
  }
  const rowWeights = Float64Array.from(targetOfRow, (target, row) =>
    target === null ? 0 : 1 / (rowsOfThread.get(threadOfRow[row]) ?? 1),
  );
  return { targets, rowWeights, classCount };
}

interface FittedCandidate {
  readonly characterWeight: number;
  readonly l2: number;
  readonly fitRows: SoftmaxFitter;
  readonly ofFolds: readonly FittedRows[];
  /** Logits of every row by the fit without its fold, row-major [rows, classes]. */
  readonly heldOut: Float64Array;
  readonly temperature: number;
  readonly loss: number;
}

/** Fits the words: the character weight with the smallest held-out loss at the middle penalty, then the penalty. */
async function chooseFit(
  settings: Omit<ScoredRows, 'logits'> &
    Pick<LocalTraining, 'onProgress' | 'signal'> & {
      options: LocalDetectorOptions;
      rows: TrainingRows;
      folded: FoldedRows;
    },
): Promise<{ best: FittedCandidate; whole: FittedRows }> {
  const { options, rows, folded, onProgress, signal, targets, rowWeights, classCount } = settings;
  const total = (options.characterWeights.length + options.l2.length - 1) * folded.folds + 1;
  let done = 0;
  const counted =
    (fitRows: SoftmaxFitter): SoftmaxFitter =>
    async (of) => {
      signal?.throwIfAborted();
      const fit = await fitRows(of);
      onProgress?.({ done: ++done, total });
      return fit;
    };
  const candidate = async (
    settings: Pick<FittedCandidate, 'characterWeight' | 'l2' | 'fitRows'>,
  ): Promise<FittedCandidate> => {
    const fitted = await crossFitted(settings.fitRows, { ...folded, l2: settings.l2 });
    const scored = { logits: fitted.heldOut, targets, rowWeights, classCount };
    const temperature = fitTemperature(scored);
    return { ...settings, ...fitted, temperature, loss: logLoss(scored, temperature) };
  };
  const penalties = options.l2.toSorted((left, right) => left - right);
  const [middle] = penalties.splice((penalties.length - 1) >> 1, 1);
  const better = (left: FittedCandidate, right: FittedCandidate) => (right.loss < left.loss ? right : left);
  const candidateOf = async (characterWeight: number) => {
    const features = weighCharacters(rows, characterWeight);
    const fitRows = counted(await softmaxFitter({ features, targets, classCount, signal }));
    return candidate({ characterWeight, l2: middle, fitRows });
  };
  const [first, ...others] = options.characterWeights;
  let best = await candidateOf(first);
  for (const characterWeight of others) best = better(best, await candidateOf(characterWeight));
  for (const l2 of penalties) best = better(best, await candidate({ ...best, l2 }));
  return { best, whole: await best.fitRows({ l2: best.l2, rowWeights }) };
}

/** Multiplies the character n-grams by their weight. */
function weighCharacters({ features, blocks }: TrainingRows, characterWeight: number): SparseMatrix {
  const factors = new Float32Array(features.columns).fill(1);
  for (const { kind, from, columns } of blocks)
    if (kind === 'characters') factors.fill(characterWeight, from, from + columns);
  return { ...features, values: features.values.map((value, entry) => value * factors[features.indices[entry]]) };
}

/** Chosen on development seeds (docs/decisions/stop-agent.md). */
const timingL2 = 0.3;
/** In nats. Times improve the loss by a few hundredths. */
const timingTolerance = 1e-6;

/**
 * Fits the times after the words: a softmax regression of their columns alone, without a constant, on the words'
 * calibrated logits. In one regression, times would explain what words can, and a claim alone, which has no times,
 * would be judged by poorer words.
 * @param settings.words calibrated logits of rows by a fit without their fold
 * @returns weights [columns, classes] fitted to all rows and without each fold, and the words' logits plus those of the
 *   times
 */
async function fitTiming(settings: {
  values: SparseMatrix;
  words: ScoredRows;
  folded: FoldedRows;
  signal?: AbortSignal;
}): Promise<{ whole: Float64Array; ofFolds: readonly Float64Array[]; logits: Float64Array }> {
  const { values, words, folded, signal } = settings;
  const { targets, classCount, logits, rowWeights } = words;
  const rows = { features: values, targets, classCount, baseLogits: logits, tolerance: timingTolerance, signal };
  const fitRows = await softmaxFitter(rows);
  const { ofFolds, heldOut } = await crossFitted(fitRows, { ...folded, l2: timingL2 });
  return {
    whole: (await fitRows({ rowWeights, l2: timingL2 })).weights(),
    ofFolds: ofFolds.map(({ weights }) => weights()),
    logits: logits.map((logit, index) => logit + heldOut[index]),
  };
}
