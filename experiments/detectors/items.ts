import { sha256 } from '../../src/content-hash.ts';
import { splitThreads } from '../../src/data/split.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { testsOf } from '../judging/drawn-threads.ts';
import type { ScoredTask } from '../judging/gold-labels.ts';
import type { DetectorsExperiment } from './experiment.ts';

export type ItemParts = {
  /** Threads that local detectors learn from. */
  readonly train: Thread[];
  /** Threads that settings are chosen on. */
  readonly development: Thread[];
  readonly test: Thread[];
};

/** The threads of an experiment, and a hash that identifies them. */
export async function readItems(
  { data }: Pick<DetectorsExperiment, 'data'>,
  { onNote }: Pick<WorkContext, 'onNote'>,
): Promise<{ threads: Thread[]; hash: string }> {
  const reading = { skipInvalid: data.skipInvalid, onSkipped: onNote };
  const threads = data.threads === null ? synthesizeThreads(data.synthetic) : await loadThreads(data.threads, reading);
  return { threads, hash: sha256(threads) };
}

/**
 * Disjoint parts of labelled threads, each with every label in proportion; the test has all threads of its events where
 * these are named.
 * @throws InputError for threads that cannot fill the parts
 */
export function splitItems(
  labelled: readonly Thread[],
  { experiment, seed, task }: { experiment: DetectorsExperiment; seed: number; task: ScoredTask },
): ItemParts {
  const { train, development, test, testEvents, seed: fixed } = experiment.split;
  const sizes = { train, development, ...(testEvents === null && { test }) };
  // Where all are tested, so many as are asked for are fair.
  const drawn = train + development === 0 ? labelled.filter(isFairTest) : labelled;
  const parts = splitThreads<Thread, string, string>(drawn, {
    parts: Object.fromEntries(Object.entries(sizes).filter(([, size]) => size !== 0)),
    seed: fixed ?? seed,
    stratifyBy: task.goldLabel,
    ...(testEvents !== null && { holdOutEvents: { test: testEvents } }),
  });
  // A test that is not read may be empty.
  const isRead = experiment.evaluation.part === 'test';
  return {
    train: parts.train ?? [],
    development: parts.development ?? [],
    test: isRead ? testsOf(parts.test, { part: 'the test part' }) : parts.test.filter(isFairTest),
  };
}
