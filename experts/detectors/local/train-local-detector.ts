import { createHash } from 'node:crypto';
import { z } from 'zod';
import { floatsToBase64, integersToBase64 } from '../../../src/base64-floats.ts';
import { checked } from '../../../src/checked.ts';
import type { SavedBlock } from '../../../src/data/prefix-model.ts';
import { likeliest } from '../../../src/data/student-features.ts';
import type { Task } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { minimize, softmaxLoss } from '../../../src/regression/softmax-regression.ts';
import type { SparseMatrix } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { ngramUnits, ngramVersion } from '../../../src/text/ngram-counts.ts';
import { fitTemperature, logLoss, type Scored } from './calibration.ts';
import { fitClassOffsets } from './class-offsets.ts';
import { type HeldOut, heldOutScores } from './held-out.ts';
import { type FittedModel, LocalDetector } from './local-detector.ts';
import {
  type FeatureBlock,
  loneClaimWeight,
  ngramLengths,
  replyWeight,
  type TrainingRows,
  trainingRows,
} from './training-rows.ts';

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
   * uses that detector's judgements, and gets no offsets.
   */
  targetOf?: ((thread: Thread, length: number) => Target) | undefined;
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

/** Weights as they are saved: against class 0, of features of length 1. */
function savedWeights(options: {
  weights: Float64Array;
  blocks: readonly FeatureBlock[];
  characterWeight: number;
  classCount: number;
}): Pick<FittedModel, 'claim' | 'replies' | 'intercepts' | 'embedding'> {
  const { weights, blocks, characterWeight, classCount } = options;
  const relative = (column: number, label: number) =>
    weights[column * classCount + label] - weights[column * classCount];
  const weightsOf = ({ part, kind, from, columns }: FeatureBlock) => {
    const scale = (part === 'replies' ? replyWeight : 1) * (kind === 'characters' ? characterWeight : 1);
    const others = classCount - 1;
    return floatsToBase64(
      Float32Array.from(
        { length: columns * others },
        (_, index) => scale * relative(from + Math.floor(index / others), 1 + (index % others)),
      ),
    );
  };
  const find = (part: FeatureBlock['part'], kind: FeatureBlock['kind']) =>
    blocks.find((block) => block.part === part && block.kind === kind);
  const saved = (part: FeatureBlock['part'], kind: FeatureBlock['kind']): SavedBlock => {
    const block = find(part, kind);
    if (block?.vocabulary === undefined) throw new Error(`there are no features of ${kind} of the ${part}`);
    if (kind === 'characters' && characterWeight === 0) return { keys: '', idf: '', weights: '' };
    const { keys, idf } = block.vocabulary;
    return { keys: integersToBase64(keys), idf: floatsToBase64(idf), weights: weightsOf(block) };
  };
  const ngramsOf = (part: FeatureBlock['part']) => ({
    words: saved(part, ngramUnits[0]),
    characters: saved(part, ngramUnits[1]),
  });
  const [claim, replies] = [find('claim', 'embedding'), find('replies', 'embedding')];
  const constant = weights.length / classCount - 1;
  return {
    claim: ngramsOf('claim'),
    replies: ngramsOf('replies'),
    intercepts: Array.from({ length: classCount }, (_, label) => relative(constant, label)),
    embedding:
      claim === undefined || replies === undefined ? null : { claim: weightsOf(claim), replies: weightsOf(replies) },
  };
}

/** What the folds say of threads that they have not seen, with offsets that were not chosen on these threads either. */
function heldOutTruth(options: {
  scored: Scored;
  rows: TrainingRows;
  foldOfRow: Int32Array;
  folds: number;
  offsetsOf: (scored: Scored) => number[];
  labels: readonly string[];
}): HeldOut {
  const { scored, foldOfRow, folds, offsetsOf } = options;
  const { threadOfRow, lengthOfRow } = options.rows;
  const { logits, targets, rowWeights, classCount } = scored;
  const offsetsOfFold = Array.from({ length: folds }, (_, fold) =>
    offsetsOf({ ...scored, rowWeights: rowWeights.map((weight, row) => (foldOfRow[row] === fold ? 0 : weight)) }),
  );
  const rowOf = (values: Float64Array, row: number) => [...values.subarray(row * classCount, (row + 1) * classCount)];
  const said = Array.from(foldOfRow, (fold, row) =>
    likeliest(rowOf(logits, row).map((logit, label) => logit + offsetsOfFold[fold][label])),
  );
  const gold = Array.from(rowWeights, (_, row) => likeliest(rowOf(targets, row)));
  const isLast = (row: number) => row + 1 === threadOfRow.length || threadOfRow[row + 1] !== threadOfRow[row];
  const last = [...threadOfRow.keys()].filter((row) => isLast(row) && rowWeights[row] > 0);
  const firstOf = new Map(Array.from(lengthOfRow, (length, row) => [length === 1 ? threadOfRow[row] : -1, row]));
  const pick = (rowsOf: readonly number[]) => rowsOf.map((row) => said[row]);
  return heldOutScores({
    gold: last.map((row) => gold[row]),
    said: { 'all posts': pick(last), 'claim only': pick(last.map((row) => firstOf.get(threadOfRow[row]) ?? row)) },
    labels: options.labels,
  });
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
