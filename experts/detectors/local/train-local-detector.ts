import { createHash } from 'node:crypto';
import { z } from 'zod';
import { checked } from '../../../src/checked.ts';
import type { Task } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { stratifiedFolds } from '../../../src/metrics/stratified-folds.ts';
import { minimize, softmaxLoss } from '../../../src/regression/softmax-regression.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { ngramVersion } from '../../../src/text/ngram-counts.ts';
import { fitTemperature, logLoss } from './calibration.ts';
import { fitClassOffsets } from './class-offsets.ts';
import { heldOutTruth } from './held-out.ts';
import { countByLabel, labelledThreads, type Target, type TargetOf } from './labelled-threads.ts';
import { type FittedModel, LocalDetector } from './local-detector.ts';
import { savedWeights } from './saved-weights.ts';
import { loneClaimWeight, ngramLengths, type TrainingRows, trainingRows } from './training-rows.ts';

export const localDetectorOptionsSchema = z
  .strictObject({
    encoder: encoderSchema
      .nullable()
      .default(null)
      .describe('reads the posts, too, beside their n-grams: a sentence encoder may help; null for n-grams alone'),
    maxPosts: z.int().min(1).default(500).describe('most posts read of a training thread'),
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
 * is fitted to their held-out predictions, and then an offset for each class to macro-F1. Needs no tensors.
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

  const rows = await trainingRows({ threads, encoder, maxPosts: options.maxPosts });
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
  const fitted = async (of: { features: SparseMatrix; l2: number; without: number }) => {
    signal?.throwIfAborted();
    const weights = rowWeights.map((weight, row) => (foldOfRow[row] === of.without ? 0 : weight));
    const own = await fittedWeights({ ...of, targets, rowWeights: weights, classCount, signal });
    onProgress?.({ done: ++done, total });
    return own;
  };
  const candidate = async (own: Pick<Candidate, 'characterWeight' | 'l2' | 'features'>): Promise<Candidate> => {
    const { features, l2 } = own;
    const ofFolds: Float64Array[] = [];
    // From nothing: a fit that began where that of another fold ended would know the threads left out.
    for (let fold = 0; fold < folds; fold++) ofFolds.push(await fitted({ features, l2, without: fold }));
    const logits = heldOutLogits({ features, weightsOfFold: ofFolds, foldOfRow, classCount });
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
    const own = await candidate({ characterWeight, l2: middle, features: weighted(rows, characterWeight) });
    best = best === null ? own : better(best, own);
  }
  if (best === null) throw new Error('there is nothing to choose from');
  for (const l2 of penalties) best = better(best, await candidate({ ...best, l2 }));
  const { characterWeight, l2, features, ofFolds, temperature } = best;
  const whole = await fitted({ features, l2, without: -1 });
  const scored = { logits: best.logits.map((logit) => logit / temperature), targets, rowWeights, classCount };

  // A student is to be as sure as its detector, and is held against no label.
  const offsetsOf = settings.targetOf === undefined ? fitClassOffsets : () => new Array<number>(classCount).fill(0);

  const detectorWith = (weights: Float64Array) =>
    new LocalDetector({
      encoder,
      model: { ...model, ...savedWeights({ weights, blocks: rows.blocks, characterWeight, classCount }) },
    });
  const model: Omit<FittedModel, 'claim' | 'replies' | 'intercepts' | 'embedding'> = {
    format: 'earshot-local-detector',
    formatVersion: 2,
    task: task.name,
    labels: [...task.labels],
    encoder: encoder === null ? null : { ...encoder.identity },
    ngrams: { version: ngramVersion, ...ngramLengths },
    loneClaimWeight,
    temperature,
    offsets: offsetsOf(scored),
    training: {
      seed,
      threads: countByLabel({ task, labels }),
      threadIdsSha256: createHash('sha256')
        .update(threads.map((thread) => `${thread.id}\n`).join(''))
        .digest('hex'),
      rows: threadOfRow.length,
      l2,
      characterWeight,
      heldOutLogLoss: best.loss,
      heldOut: heldOutTruth({ scored, rows, foldOfRow, folds, offsetsOf, labels: task.labels }),
    },
  };
  const mean = ofFolds[0].map((_, index) => ofFolds.reduce((sum, weights) => sum + weights[index], 0) / folds);
  return {
    whole: detectorWith(whole),
    folds: ofFolds.map(detectorWith),
    mean: detectorWith(mean),
    foldOf: new Map(threads.map(({ id }, index) => [id, foldOfThread[index]])),
  };
}

interface Candidate {
  readonly characterWeight: number;
  readonly l2: number;
  readonly features: SparseMatrix;
  /** Weights fitted without each fold, [columns, classes]. */
  readonly ofFolds: readonly Float64Array[];
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

/** A fit ends when the loss is this close to its minimum, in nats, or after so many steps. */
const tolerance = 1e-3;
const maximumSteps = 200;

/** The weights of a softmax regression, [columns, classes]. */
async function fittedWeights(options: {
  features: SparseMatrix;
  targets: Float64Array;
  rowWeights: Float64Array;
  classCount: number;
  l2: number;
  signal: AbortSignal | undefined;
}): Promise<Float64Array> {
  const { features, targets, classCount, l2, signal } = options;
  const total = options.rowWeights.reduce((sum, weight) => sum + weight, 0);
  const prior = new Float64Array(features.columns * classCount);
  const problem = {
    features,
    targets,
    rowWeights: options.rowWeights.map((weight) => weight / total),
    candidates: new Array<boolean>(classCount).fill(true),
    prior,
    l2,
  };
  const { point } = await minimize({
    start: prior,
    lossAt(weights, gradient) {
      signal?.throwIfAborted();
      return softmaxLoss({ problem, weights, gradient });
    },
    convexity: l2,
    tolerance,
    maximumSteps,
  });
  return point;
}

/** Of every row by the fit without its fold; row-major [rows, classes]. */
function heldOutLogits(options: {
  features: SparseMatrix;
  weightsOfFold: readonly Float64Array[];
  foldOfRow: Int32Array;
  classCount: number;
}): Float64Array {
  const { weightsOfFold, foldOfRow, classCount } = options;
  const { rows, starts, indices, values } = options.features;
  const logits = new Float64Array(rows * classCount);
  for (let row = 0; row < rows; row++) {
    const weights = weightsOfFold[foldOfRow[row]];
    for (let entry = starts[row]; entry < starts[row + 1]; entry++)
      for (let label = 0; label < classCount; label++)
        logits[row * classCount + label] += values[entry] * weights[indices[entry] * classCount + label];
  }
  return logits;
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
