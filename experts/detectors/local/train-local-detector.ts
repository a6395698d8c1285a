import { createHash } from 'node:crypto';
import { z } from 'zod';
import { floatsToBase64 } from '../../../src/base64-floats.ts';
import { checked } from '../../../src/checked.ts';
import type { Task } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { accuracyOf, fitTemperature, logLoss } from './calibration.ts';
import { fitLinearClassifiers, type LinearFit } from './linear-classifier.ts';
import { type FittedModel, LocalDetector } from './local-detector.ts';
import { prefixFeatureOptionsSchema, trainingRows } from './prefix-features.ts';

export const localDetectorOptionsSchema = z
  .strictObject({
    encoder: encoderSchema
      .prefault({ name: 'hashing', dimensions: 4096, characterNgrams: { weight: 0 } })
      .describe("may differ from the agent's"),
    features: prefixFeatureOptionsSchema.prefault({}).describe("the classifier's features of a prefix"),
    maxPosts: z.int().min(1).default(500).describe('most posts read of a training thread'),
    l2: z
      .array(z.number().positive())
      .min(1)
      .default([1e-5, 1e-4, 1e-3])
      .describe('penalties to choose from by cross-validation'),
    folds: z.int().min(2).default(5).describe('folds of the cross-validation'),
    steps: z.int().min(1).default(300).describe('steps of the optimiser, each on all rows'),
  })
  .describe('the local detector: a linear classifier of encoded prefixes, trained here');

export type LocalDetectorOptions = z.infer<typeof localDetectorOptionsSchema>;

/**
 * What a prefix is trained towards: a class, or a probability of each, which add up to 1. Null leaves it out.
 */
export type Target = number | readonly number[] | null;

export interface LocalTraining {
  threads: readonly Thread[];
  task: Task;
  options?: z.input<typeof localDetectorOptionsSchema> | undefined;
  seed: number;
  /**
   * What a prefix of this many posts is trained towards. By default the thread's gold label. A student of another detector
   * uses that detector's judgements.
   */
  targetOf?: ((thread: Thread, length: number) => Target) | undefined;
  /** Replaces `options.encoder`, for example by one that exists already or stores its embeddings. */
  encoder?: Encoder | undefined;
  onProgress?: ((progress: { done: number; total: number }) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Trains on prefixes of labelled threads that no later stage uses. Every thread has the same weight, however long it
 * is. The penalty chosen is the one with the smallest held-out loss after calibration, and the temperature is fitted
 * to its held-out predictions. Runs on the current tensor backend.
 * @throws InputError where a label has fewer than two training threads
 */
export async function trainLocalDetector(settings: LocalTraining): Promise<LocalDetector> {
  return (await trainCrossFitted(settings)).whole;
}

/** A detector with those of its cross-validation. They share the weights of the dimensions and the temperature. */
export interface CrossFitted {
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
export async function trainCrossFitted(settings: LocalTraining): Promise<CrossFitted> {
  const { task, seed, onProgress, signal } = settings;
  const options = checked(localDetectorOptionsSchema, settings.options ?? {}, "the local detector's options are wrong");
  const { threads, labels } = labelledThreads(settings);
  const encoder = settings.encoder ?? (await createEncoder(options.encoder));

  const rows = await trainingRows({ threads, encoder, features: options.features, maxPosts: options.maxPosts });
  const rowsOfThread = new Float32Array(threads.length);
  for (const thread of rows.threadOfRow) rowsOfThread[thread]++;
  const wanted = Array.from(rows.threadOfRow, (thread, row) =>
    settings.targetOf === undefined ? labels[thread] : settings.targetOf(threads[thread], rows.lengthOfRow[row]),
  );
  const rowWeights = Float32Array.from(rows.threadOfRow, (thread, row) =>
    wanted[row] === null ? 0 : 1 / rowsOfThread[thread],
  );
  const classCount = task.labels.length;
  const targets = targetRows(wanted, classCount);

  const smallestClass = Math.min(...task.labels.map((_, label) => labels.filter((own) => own === label).length));
  const folds = Math.min(options.folds, smallestClass);
  const random = Random.seeded({ seed, purpose: 'local detector folds' });
  const foldOfThread = stratifiedFolds({ classes: labels, folds, random });
  const foldOfRow = rows.threadOfRow.map((thread) => foldOfThread[thread]);

  // For each penalty, one problem a fold, without that fold's rows, and a last one on all rows.
  const problems = options.l2.flatMap((l2) =>
    Array.from({ length: folds + 1 }, (_, fold) => ({
      l2,
      rowWeights: rowWeights.map((weight, row) => (foldOfRow[row] === fold ? 0 : weight)),
    })),
  );
  const fit = await fitLinearClassifiers({
    features: rows.features,
    targets,
    classCount,
    problems,
    steps: options.steps,
    onStep: (done) => onProgress?.({ done, total: options.steps }),
    signal,
  });

  const candidates = options.l2.map((l2, index) => {
    const problemOfRow = foldOfRow.map((fold) => index * (folds + 1) + fold);
    const logits = heldOutLogits({ fit, problemOfRow, problemCount: problems.length, classCount });
    const scored = { logits, targets, rowWeights, classCount };
    const temperature = fitTemperature(scored);
    return { l2, index, temperature, loss: logLoss(scored, temperature), accuracy: accuracyOf(scored) };
  });
  const best = candidates.reduce((left, right) => (right.loss < left.loss ? right : left));
  const weightsOfProblem = fit.weights.length / problems.length;
  const weightsOf = (problem: number) =>
    fit.weights.subarray(
      (best.index * (folds + 1) + problem) * weightsOfProblem,
      (best.index * (folds + 1) + problem + 1) * weightsOfProblem,
    );
  const detectorWith = (weights: Float32Array) =>
    new LocalDetector({ encoder, model: { ...model, weights: floatsToBase64(weights) } });
  const model: Omit<FittedModel, 'weights'> = {
    format: 'earshot-local-detector',
    formatVersion: 1,
    task: task.name,
    labels: [...task.labels],
    encoder: { ...encoder.identity },
    dimensions: encoder.dimensions,
    features: options.features,
    dimensionWeights: floatsToBase64(rows.dimensionWeights),
    temperature: best.temperature,
    training: {
      seed,
      threads: countByLabel({ task, labels }),
      threadIdsSha256: createHash('sha256')
        .update(threads.map((thread) => `${thread.id}\n`).join(''))
        .digest('hex'),
      rows: rows.threadOfRow.length,
      l2: best.l2,
      heldOutLogLoss: best.loss,
      heldOutAccuracy: best.accuracy,
    },
  };
  const ofFolds = Array.from({ length: folds }, (_, fold) => weightsOf(fold));
  return {
    whole: detectorWith(weightsOf(folds)),
    folds: ofFolds.map(detectorWith),
    mean: detectorWith(ofFolds[0].map((_, index) => ofFolds.reduce((sum, weights) => sum + weights[index], 0) / folds)),
    foldOf: new Map(threads.map(({ id }, index) => [id, foldOfThread[index]])),
  };
}

/** Row-major [rows, classes]; a row that is left out counts for nothing, whatever stands here. */
function targetRows(wanted: readonly Target[], classCount: number): Float32Array {
  const rows = new Float32Array(wanted.length * classCount);
  for (const [row, target] of wanted.entries()) {
    if (typeof target === 'number' || target === null) rows[row * classCount + (target ?? 0)] = 1;
    else rows.set(target, row * classCount);
  }
  return rows;
}

/** Threads with their class: the gold label, or what the whole thread is trained towards. */
function labelledThreads(settings: { threads: readonly Thread[]; task: Task; targetOf?: LocalTraining['targetOf'] }): {
  threads: Thread[];
  labels: number[];
} {
  const { task } = settings;
  const labelled = settings.threads.flatMap((thread) => {
    const target = settings.targetOf ? settings.targetOf(thread, thread.posts.length) : task.goldLabel(thread);
    const label = typeof target === 'object' && target !== null ? target.indexOf(Math.max(...target)) : target;
    return label === null ? [] : [{ thread, label }];
  });
  const labels = labelled.map(({ label }) => label);
  assertEveryLabel({ task, labels, threads: settings.threads.length });
  return { threads: labelled.map(({ thread }) => thread), labels };
}

/**
 * Checks that a local detector can be trained on threads of these labels.
 * @param options.threads how many threads there are, labelled or not
 * @throws InputError where a label of the task has fewer than two
 */
export function assertEveryLabel({
  task,
  labels,
  threads,
}: {
  task: Task;
  labels: readonly number[];
  threads: number;
}): void {
  const counts = countByLabel({ task, labels });
  if (Object.values(counts).every((count) => count >= 2)) return;
  const have = Object.entries(counts).map(([label, count]) => `${label} ${count}`);
  throw new InputError(
    `the local detector needs at least 2 training threads of every label of the task "${task.name}"; of ${threads} threads these have one: ${have.join(', ')}. Give it more labelled threads, or choose a task whose labels these threads have`,
  );
}

function countByLabel(options: { task: Task; labels: readonly number[] }): Record<string, number> {
  return Object.fromEntries(
    options.task.labels.map((name, label) => [name, options.labels.filter((own) => own === label).length]),
  );
}

/** Each row's logits from the problem fitted without that row, preceded by the reference class's 0. */
function heldOutLogits(options: {
  fit: LinearFit;
  problemOfRow: Int32Array;
  problemCount: number;
  classCount: number;
}): Float32Array {
  const { fit, problemOfRow, problemCount, classCount } = options;
  const logits = new Float32Array(problemOfRow.length * classCount);
  for (const [row, problem] of problemOfRow.entries()) {
    const start = (row * problemCount + problem) * (classCount - 1);
    logits.set(fit.logits.subarray(start, start + classCount - 1), row * classCount + 1);
  }
  return logits;
}

/** A fold number, 0 … `folds` − 1, for each item. Every class is spread over the folds as evenly as possible. */
export function stratifiedFolds(options: { classes: readonly number[]; folds: number; random: Random }): Int32Array {
  const { classes, folds, random } = options;
  const fold = new Int32Array(classes.length);
  // The count goes on from class to class. Otherwise small classes would all land in the first folds.
  let dealt = 0;
  for (const label of [...new Set(classes)].sort((left, right) => left - right)) {
    const members = classes.flatMap((own, index) => (own === label ? [index] : []));
    for (const index of random.shuffled(members)) fold[index] = dealt++ % folds;
  }
  return fold;
}
