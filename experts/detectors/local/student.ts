import { z } from 'zod';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import type { Task } from '../../../src/data/task.ts';
import { prefixOf, type Thread } from '../../../src/data/thread.ts';
import { entryOf } from '../../../src/entry-of.ts';
import { InputError } from '../../../src/errors.ts';
import { readJsonFile } from '../../../src/json-file.ts';
import { recordOf } from '../../../src/record-of.ts';
import { Random } from '../../../src/tensor/random.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import type { Detector } from '../../detector.ts';
import type { JudgementSequence } from '../../judgement-sequence.ts';
import { fittedModelSchema, LocalDetector } from './local-detector.ts';
import { type LocalDetectorOptions, trainCrossFitted } from './train-local-detector.ts';
import type { Target } from './training-labels.ts';

/*
 * The student: a small classifier distilled from cached judgements, where every prefix is an example. It costs no
 * query, so its confidence may join the state: the agent then knows how certain a cheap reader is, and for how long.
 *
 * A classifier is surer of its training threads than of others, and an agent that learned from such a student would
 * meet another one in the test. So each training thread is read by a student without it:
 *
 *   fitting        training threads                                                      other threads
 *   cross-fitted   the student of the other folds                                       the mean of the folds' weights
 *   whole          demonstrations: one of five further students; others: the student    the student, trained on all
 */

/** Folds of the students for the demonstrations if `whole`. */
const wholeFolds = 5;

export const studentFittings = ['cross-fitted', 'whole'] as const;
export const studentTargets = ['labels', 'probabilities'] as const;

export interface Student {
  /** Judges threads that the student did not learn from. */
  readonly reader: LocalDetector;
  /** Probabilities at each prefix of a training thread, by thread id, from students without it; [posts, labels]. */
  readonly heldOut: ReadonlyMap<string, Float64Array>;
}

export interface JudgedThread {
  readonly thread: Thread;
  readonly sequence: JudgementSequence;
}

/**
 * Trains a student on judgements.
 * @param settings.further training threads besides the demonstrations: those of the environment
 * @param settings.targets the training targets: each judgement's label, or its probabilities if the detector gave them
 * @throws InputError if the judgements are too similar to learn from
 */
export async function trainStudent(settings: {
  demonstrations: readonly JudgedThread[];
  further: readonly JudgedThread[];
  task: Task;
  options: LocalDetectorOptions;
  fitting: (typeof studentFittings)[number];
  targets: (typeof studentTargets)[number];
  seed: number;
  /** An encoder instead of `options.encoder`, for example one that stores its embeddings. */
  encoder?: Encoder;
  onProgress?: ((done: number, total: number) => void) | undefined;
}): Promise<Student> {
  const { demonstrations, further, task, options, fitting, targets, seed, encoder, onProgress } = settings;
  const train = (examples: readonly JudgedThread[]) => {
    const sequences = new Map(examples.map(({ thread, sequence }) => [thread.id, sequence]));
    checkLabels(examples, task);
    return trainCrossFitted({
      threads: examples.map(({ thread }) => thread),
      task,
      options,
      seed,
      encoder,
      targetOf: ({ id }, length) => targetOfJudgement(sequences.get(id), { length, targets }),
    });
  };
  const heldOut = new Map<string, Float64Array>();
  const readBy = async (reader: LocalDetector, { thread }: JudgedThread) => {
    heldOut.set(thread.id, await studentProbabilities(reader, thread));
  };
  const all = [...demonstrations, ...further];
  if (fitting === 'cross-fitted') {
    const { folds, foldOf, mean } = await train(all);
    for (const judgedThread of all) {
      const fold = foldOf.get(judgedThread.thread.id);
      if (fold !== undefined) await readBy(folds[fold], judgedThread);
    }
    onProgress?.(1, 1);
    return { reader: mean, heldOut };
  }
  const order = Random.seeded({ seed, purpose: 'student folds' }).permutation(demonstrations.length);
  for (let fold = 0; fold < wholeFolds; fold++) {
    const isOut = (index: number) => order[index] % wholeFolds === fold;
    const { whole } = await train([...demonstrations.filter((_, index) => !isOut(index)), ...further]);
    onProgress?.(fold + 1, wholeFolds + 1);
    for (const [index, judgedThread] of demonstrations.entries()) if (isOut(index)) await readBy(whole, judgedThread);
  }
  const { whole } = await train(all);
  onProgress?.(wholeFolds + 1, wholeFolds + 1);
  return { reader: whole, heldOut };
}

/** The target of a prefix; null if the judgement has no label. A prefix beyond the last judgement has its target. */
function targetOfJudgement(
  sequence: JudgementSequence | undefined,
  { length, targets }: { length: number; targets: (typeof studentTargets)[number] },
): Target {
  if (sequence === undefined) return null;
  const { predicted, probabilities, labels } = sequence;
  const index = Math.min(length, predicted.length) - 1;
  const label = predicted[index] ?? -1;
  if (label < 0) return null;
  const row = [...probabilities.subarray(index * labels.length, (index + 1) * labels.length)];
  const total = row.reduce((sum, probability) => sum + probability, 0);
  // NaN if the detector gave none.
  return targets === 'labels' || !(total > 0) ? label : row.map((probability) => probability / total);
}

/** @throws InputError if the judgements are too similar to learn from */
function checkLabels(examples: readonly JudgedThread[], { labels }: Task): void {
  const last = examples.map(({ sequence: { predicted } }) => predicted[predicted.length - 1]);
  const counts = labels.map((_, label) => last.filter((value) => value === label).length);
  if (Math.min(...counts) >= 2) return;
  const countsInWords = labels.map((name, label) => `${name} ${counts[label]}`).join(', ');
  throw new InputError(
    `the student learns from what the detector says, and of ${examples.length} threads it says: ${countsInWords}; a student needs two of each. Use a detector that tells the labels apart, more threads, or state.student=false`,
  );
}

const savedStudentSchema = z.strictObject({
  reader: fittedModelSchema,
  heldOut: recordOf(z.array(z.number())),
});

export function saveStudent(path: string, { reader, heldOut }: Student): void {
  const probabilities = Object.fromEntries(Array.from(heldOut, ([id, probability]) => [id, [...probability]]));
  writeFileAtomically(path, `${JSON.stringify({ reader: reader.model, heldOut: probabilities })}\n`);
}

/**
 * @param settings.encoder needed only if it cannot be created from its identity alone
 * @throws InputError if the file is not what `saveStudent` wrote
 */
export async function loadStudent(settings: { path: string; encoder?: Encoder | undefined }): Promise<Student> {
  const remedy = 'delete it, and the student is trained again';
  const { reader, heldOut } = readJsonFile(settings.path, savedStudentSchema, remedy);
  return {
    reader: await LocalDetector.open(reader, settings),
    heldOut: new Map(Object.entries(heldOut).map(([id, probability]) => [id, Float64Array.from(probability)])),
  };
}

/** The student's probability of each label at each prefix of a thread, row-major [posts, labels]. */
export async function studentProbabilities(reader: Detector, thread: Thread): Promise<Float64Array> {
  const { labels } = reader;
  const rows = new Float64Array(thread.posts.length * labels.length);
  for (const index of thread.posts.keys()) {
    const { probabilities } = await reader.judge(prefixOf(thread, index + 1));
    rows.set(
      labels.map((name) => entryOf(probabilities ?? {}, name) ?? 1 / labels.length),
      index * labels.length,
    );
  }
  return rows;
}
