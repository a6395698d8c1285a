import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type AnnotateProgress, type AnnotateResult, annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { trainLocalDetector } from '../../experts/detectors/local/train-local-detector.ts';
import type { PrefixSchedule } from '../../experts/prefix-schedule.ts';
import { formatBadItem } from '../../src/data/bad-item.ts';
import { rumorTask as task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { diskError, InputError } from '../../src/errors.ts';
import { selectBackend } from '../../src/tensor/backend.ts';

export interface AnnotateThreadsOptions {
  threads: string;
  store: string;
  /** A saved local detector; made from `trainOn` where the file does not exist. */
  detector: string;
  trainOn?: string;
  seed: number;
  schedule: PrefixSchedule;
  maxPosts: number;
  concurrency: number;
  skipInvalid: boolean;
  onStage?: (stage: string, done: number, total: number) => void;
  onCounts?: (counts: AnnotateProgress) => void;
  onNote?: (line: string) => void;
  signal?: AbortSignal;
}

export type AnnotatedThreads = Pick<AnnotateResult, 'asked' | 'cached' | 'failed' | 'failures'> & {
  readonly threads: number;
};

/** Judges the prefixes of every thread of a file into an annotation store. */
export async function annotateThreads(options: AnnotateThreadsOptions): Promise<AnnotatedThreads> {
  const { onStage, onCounts, signal } = options;
  const threads = await threadsOf(options.threads, options);
  const detector = await detectorOf(options, threads);
  const store = AnnotationStore.open(options.store);
  try {
    const { asked, cached, failed, failures } = await annotate({
      threads,
      detector,
      store,
      schedule: options.schedule,
      maxPosts: options.maxPosts,
      concurrency: options.concurrency,
      onProgress: (counts) => {
        onCounts?.(counts);
        onStage?.('judging prefixes', counts.done, counts.total);
      },
      ...(signal && { signal }),
    });
    return { threads: threads.length, asked, cached, failed, failures };
  } finally {
    store.close();
  }
}

function threadsOf(path: string, { skipInvalid, onNote }: AnnotateThreadsOptions): Promise<Thread[]> {
  return loadThreads(path, { skipInvalid, onSkipped: (item) => onNote?.(`skipped ${formatBadItem(item)}`) });
}

async function detectorOf(options: AnnotateThreadsOptions, judged: readonly Thread[]): Promise<LocalDetector> {
  const { detector: path, trainOn, seed, onStage, onNote, signal } = options;
  if (existsSync(path)) {
    if (trainOn !== undefined) onNote?.(`${path} exists already and is used as it is; ${trainOn} is not read`);
    return LocalDetector.load({ path });
  }
  if (trainOn === undefined)
    throw new InputError(
      `there is no detector ${path}; give the detector.json of a run, or train one with --train-on <threads>`,
    );
  const threads = await threadsOf(trainOn, options);
  const ids = new Set(threads.map(({ id }) => id));
  const shared = judged.filter(({ id }) => ids.has(id)).length;
  if (shared > 0)
    onNote?.(`${shared} of ${judged.length} threads also train the detector, which will judge them better than others`);
  await selectBackend('auto');
  const detector = await trainLocalDetector({
    threads,
    task,
    seed,
    onProgress: ({ done, total }) => onStage?.('training the detector', done, total),
    ...(signal && { signal }),
  });
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw diskError(error, { what: `make the folder of ${path}` });
  }
  detector.save(path);
  onNote?.(`the detector is saved as ${path}`);
  return detector;
}
