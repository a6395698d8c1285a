import { createHash } from 'node:crypto';
import { z } from 'zod';
import { checked } from '../../../src/checked.ts';
import type { Task } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { stratifiedFolds } from '../../../src/metrics/stratified-folds.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { ngramVersion } from '../../../src/text/ngram-counts.ts';
import { fitTemperature, logLoss, type Scored } from './calibration.ts';
import { fitClassOffsets } from './class-offsets.ts';
import { heldOutTruth } from './held-out.ts';
import { countByLabel, labelledThreads, type Target, type TargetOf } from './labelled-threads.ts';
import { type FittedModel, LocalDetector } from './local-detector.ts';
import { type FittedRows, type RowFitter, rowFitter } from './row-fitter.ts';
import { savedWeights } from './saved-weights.ts';
import { fitTiming } from './timing-fit.ts';
import { loneClaimWeight, ngramLengths, type TrainingRows, trainingRows } from './training-rows.ts';

/** To be raised whenever the same threads and options could train another detector. */
export const localTrainingVersion = 3;

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
  options?: z.input<typeof localDetectorOptionsSchema> | undefined;
  seed: number;
  /**
   * What a prefix of this many posts is trained towards. By default the thread's gold label. A student of another detector
   * uses that detector's judgements, and gets no offsets.
   */
  targetOf?: TargetOf | undefined;
  /** Replaces `options.encoder`, where that is not null, for example by one that stores its embeddings. */
  encoder?: Encoder | undefined;
  onProgress?: ((progress: { done: number; total: number }) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Trains on prefixes of labelled threads that no later stage uses. Every thread has the same weight, however long it
 * is. The penalty and the weight of the characters are those with the smallest held-out loss after calibration. The temperature
 * is fitted to their held-out predictions, and then an offset for each class to macro-F1. Times come last, on top of all that, so
 * that a claim alone is judged as without them. Needs no tensors.
 * @throws InputError where a label has fewer than two training threads
 */
export async function trainLocalDetector(settings: LocalTraining): Promise<LocalDetector> {
  return (await trainCrossFitted(settings)).whole;
}

/** A detector with those of its cross-validation. They share features, temperature and offsets. */
export interface CrossFittedDetectors {
  /** Trained on all threads. */
  readonly whole: LocalDetector;
  /** One a fold, trained on the threads of the others. */
  readonly folds: readonly LocalDetector[];
  /** The mean of the folds' logits, which is one linear model, because they read the same features. */
  readonly mean: LocalDetector;
  /** The fold that each training thread was left out of, by thread id. */
  readonly foldOf: ReadonlyMap<string, number>;
}

/** What `trainLocalDetector` does, keeping the detectors of its cross-validation. */
export async function trainCrossFitted(settings: LocalTraining): Promise<CrossFittedDetectors> {
  const { task, seed, onProgress, signal } = settings;
  const options = checked(localDetectorOptionsSchema, settings.options ?? {}, "the local detector's options are wrong");
  const { threads, labels } = labelledThreads(settings);
  const encoder = options.encoder === null ? null : (settings.encoder ?? (await createEncoder(options.encoder)));

  const rows = await trainingRows({ threads, encoder, maxPosts: options.maxPosts, timing: options.timing });
  if (rows.timing?.scale.deviations.slice(1).every((deviation) => deviation === 0))
    throw new InputError(
      `the local detector is to read times (timing: true), and the replies of its ${threads.length} training threads have none that differ; give posts a "time", or leave timing out`,
    );
  const { threadOfRow, lengthOfRow } = rows;
  const rowsOfThread = new Float64Array(threads.length);
  for (const thread of threadOfRow) rowsOfThread[thread]++;
  const wanted = Array.from(threadOfRow, (thread, row) =>
    settings.targetOf === undefined ? labels[thread] : settings.targetOf(threads[thread], lengthOfRow[row]),
  );
  const rowWeights = Float64Array.from(threadOfRow, (thread, row) =>
    wanted[row] === null ? 0 : 1 / rowsOfThread[thread],
  );
  const classCount = task.labels.length;
  const targets = targetRows(wanted, classCount);

  const smallestClass = Math.min(...task.labels.map((_, label) => labels.filter((own) => own === label).length));
  const folds = Math.min(options.folds, smallestClass);
  const random = Random.seeded({ seed, purpose: 'local detector folds' });
  const foldOfThread = stratifiedFolds({ classes: labels, folds, random });
  const foldOfRow = threadOfRow.map((thread) => foldOfThread[thread]);

  const total = (options.characterWeights.length + options.l2.length - 1) * folds + 1;
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
  const candidate = async (own: Pick<Candidate, 'characterWeight' | 'l2' | 'fitRows'>): Promise<Candidate> => {
    const ofFolds: FittedRows[] = [];
    // From nothing: a fit that began where that of another fold ended would know the threads left out.
    for (let fold = 0; fold < folds; fold++) ofFolds.push(await fitted({ ...own, without: fold }));
    const logits = Float64Array.from(
      targets,
      (_, index) => ofFolds[foldOfRow[Math.floor(index / classCount)]].logits[index],
    );
    const scored = { logits, targets, rowWeights, classCount };
    const temperature = fitTemperature(scored);
    return { ...own, ofFolds, logits, temperature, loss: logLoss(scored, temperature) };
  };
  // First the weight of the characters, at the middle penalty, then the penalty.
  const penalties = options.l2.toSorted((left, right) => left - right);
  const [middle] = penalties.splice((penalties.length - 1) >> 1, 1);
  const better = (left: Candidate, right: Candidate) => (right.loss < left.loss ? right : left);
  let best: Candidate | null = null;
  for (const characterWeight of options.characterWeights) {
    const fitRows = await rowFitter({ features: weighted(rows, characterWeight), targets, classCount, signal });
    const own = await candidate({ characterWeight, l2: middle, fitRows });
    best = best === null ? own : better(best, own);
  }
  if (best === null) throw new Error('there is nothing to choose from');
  for (const l2 of penalties) best = better(best, await candidate({ ...best, l2 }));
  const { characterWeight, l2, ofFolds, temperature } = best;
  const whole = await fitted({ ...best, without: -1 });
  const words = { logits: best.logits.map((logit) => logit / temperature), targets, rowWeights, classCount };
  const timing =
    rows.timing === null ? null : await fitTiming({ values: rows.timing.values, words, foldOfRow, folds, signal });
  const scored = { ...words, logits: timing?.logits ?? words.logits };

  // A student is to be as sure as its detector, and is held against no label. Times change no offset: claims alone would pay for it.
  const offsetsOf = (of: Scored) =>
    settings.targetOf === undefined
      ? fitClassOffsets({ ...of, logits: words.logits })
      : new Array<number>(classCount).fill(0);

  const detectorWith = (weights: Float64Array, timingWeights: Float64Array | null) =>
    new LocalDetector({
      encoder,
      model: {
        ...model,
        ...savedWeights({ weights, rows, timingWeights, temperature, characterWeight, classCount }),
      },
    });
  const model: Omit<FittedModel, 'claim' | 'replies' | 'timing' | 'intercepts' | 'embedding'> = {
    format: 'earshot-local-detector',
    formatVersion: 2,
    task: task.name,
    labels: [...task.labels],
    encoder: encoder === null ? null : { ...encoder.identity },
    ngrams: { version: ngramVersion, ...ngramLengths },
    loneClaimWeight,
    temperature,
    offsets: offsetsOf(words),
    training: {
      seed,
      threads: countByLabel({ task, labels }),
      threadIdsSha256: createHash('sha256')
        .update(threads.map((thread) => `${thread.id}\n`).join(''))
        .digest('hex'),
      rows: threadOfRow.length,
      l2,
      characterWeight,
      heldOutLogLoss: logLoss(scored),
      heldOut: heldOutTruth({ scored, rows, foldOfRow, folds, offsetsOf, labels: task.labels }),
    },
  };
  const weightsOfFolds = () => ofFolds.map(({ weights }) => weights());
  return {
    whole: detectorWith(whole.weights(), timing?.whole ?? null),
    // Most callers want the whole alone, and a detector of many n-grams takes longer to write than to fit.
    get folds() {
      return weightsOfFolds().map((weights, fold) => detectorWith(weights, timing?.ofFolds[fold] ?? null));
    },
    get mean() {
      return detectorWith(meanOf(weightsOfFolds()), timing === null ? null : meanOf(timing.ofFolds));
    },
    foldOf: new Map(threads.map(({ id }, index) => [id, foldOfThread[index]])),
  };
}

function meanOf(all: readonly Float64Array[]): Float64Array {
  const sum = new Float64Array(all[0].length);
  for (const own of all) for (const [index, value] of own.entries()) sum[index] += value;
  return sum.map((value) => value / all.length);
}

interface Candidate {
  readonly characterWeight: number;
  readonly l2: number;
  readonly fitRows: RowFitter;
  /** Fitted without each fold. */
  readonly ofFolds: readonly FittedRows[];
  /** Of every row, by the fit without its fold; row-major [rows, classes]. */
  readonly logits: Float64Array;
  readonly temperature: number;
  readonly loss: number;
}

/** The rows with the character n-grams weighed. */
function weighted({ features, blocks }: TrainingRows, characterWeight: number): SparseMatrix {
  const factors = new Float32Array(features.columns).fill(1);
  for (const { kind, from, columns } of blocks)
    if (kind === 'characters') factors.fill(characterWeight, from, from + columns);
  return { ...features, values: features.values.map((value, entry) => value * factors[features.indices[entry]]) };
}

/** Row-major [rows, classes]; a row that is left out counts for nothing, whatever stands here. */
function targetRows(wanted: readonly Target[], classCount: number): Float64Array {
  const rows = new Float64Array(wanted.length * classCount);
  for (const [row, target] of wanted.entries()) {
    if (typeof target === 'number' || target === null) rows[row * classCount + (target ?? 0)] = 1;
    else rows.set(target, row * classCount);
  }
  return rows;
}
