import type { Task } from '../src/data/task.ts';
import { entryOf } from '../src/entry-of.ts';
import { InputError } from '../src/errors.ts';
import type { Judgement } from './detector.ts';

/** A thread's judgements as arrays: entry k − 1 belongs to the prefix of k posts. */
export interface JudgementSequence {
  readonly threadId: string;
  readonly labels: readonly string[];
  /** Index into `labels`; −1 if the answer could not be parsed or is missing. */
  readonly predicted: Int8Array;
  /** Probability of the predicted label; NaN without one. */
  readonly confidence: Float32Array;
  /** Row-major `[prefixes, labels]`; NaN if the detector gave none. */
  readonly probabilities: Float32Array;
}

/**
 * @param judgements one entry per prefix length, from 1 on; null or undefined for a prefix that was not judged or whose
 *   detector failed
 */
export function judgementSequence(options: {
  threadId: string;
  labels: readonly string[];
  judgements: readonly (Pick<Judgement, 'label' | 'probabilities'> | null | undefined)[];
}): JudgementSequence {
  const { threadId, labels, judgements } = options;
  const predicted = new Int8Array(judgements.length).fill(-1);
  const confidence = new Float32Array(judgements.length).fill(Number.NaN);
  const probabilities = new Float32Array(judgements.length * labels.length).fill(Number.NaN);
  for (const [index, judgement] of judgements.entries()) {
    if (judgement === null || judgement === undefined) continue;
    predicted[index] = judgement.label === null ? -1 : labels.indexOf(judgement.label);
    if (judgement.probabilities === null) continue;
    for (const [label, name] of labels.entries())
      probabilities[index * labels.length + label] = entryOf(judgement.probabilities, name) ?? Number.NaN;
    if (predicted[index] >= 0) confidence[index] = probabilities[index * labels.length + predicted[index]];
  }
  return { threadId, labels, predicted, confidence, probabilities };
}

/** @throws InputError unless the labels are those of the task in its order, because they are compared by index */
export function assertLabelsOf(task: Task, { threadId, labels }: JudgementSequence): void {
  if (labels.length === task.labels.length && labels.every((label, index) => label === task.labels[index])) return;
  throw new InputError(
    `thread ${JSON.stringify(threadId)} was judged with the labels ${labels.join(', ')}, and those of the task ${task.name} are ` +
      `${task.labels.join(', ')}; give the detector the task's labels, in its order`,
  );
}
