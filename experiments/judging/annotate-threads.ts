import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { AnnotateResult } from '../../experts/annotate.ts';
import type { AnnotationRow } from '../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { taskIn } from '../../src/data/classes-of-labels.ts';
import type { Thread } from '../../src/data/thread.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { isDetectorFile } from '../config/is-detector-file.ts';
import { trainedDetector } from './cached-detector.ts';
import { type Judge, openJudge } from './judge.ts';
import type { Judged, JudgeOptions } from './judge-options.ts';

export interface AnnotateThreadsOptions
  extends Pick<
    JudgeOptions,
    'mode' | 'budget' | 'schedule' | 'maxPosts' | 'concurrency' | 'retryUnreadable' | 'maxUnreadable' | 'onCounts'
  > {
  threads: string;
  store: string;
  /** A detector file, or a saved detector; the latter is trained on `trainOn` where the file does not exist. */
  detector: string;
  trainOn?: string;
  /** The label that a detector decides that is trained here: a known task, or one of the threads' own. */
  task?: string | undefined;
  seed: number;
  /** Only the first so many threads of the file. */
  limit?: number;
  skipInvalid: boolean;
  context: WorkContext;
}

/** Free judgements that are stored in one go. */
const rowsAtOnce = 500;

export type AnnotatedThreads = Omit<AnnotateResult, 'sequences'> &
  Pick<Judged, 'usage' | 'estimates'> & { readonly threads: number; readonly asksModels: boolean };

/** Judges the prefixes of every thread of a file into an annotation store. */
export async function annotateThreads(options: AnnotateThreadsOptions): Promise<AnnotatedThreads> {
  const { mode } = options;
  // A mistake in a detector file shows at once, one in the threads only after reading them.
  const opened = isDetectorFile(options.detector) ? await openJudge(options.detector) : null;
  const threads = (await threadsOf(options.threads, options)).slice(0, options.limit);
  const judge = opened ?? (await savedOrTrained(options, threads));
  // A dry run leaves nothing behind, not even an empty store.
  const store = AnnotationStore.open(mode === 'dry-run' && !existsSync(options.store) ? ':memory:' : options.store);
  const rows: AnnotationRow[] = [];
  try {
    const onJudgement = (row: AnnotationRow) => {
      if (rows.push(row) === rowsAtOnce) store.putMany(rows.splice(0));
    };
    const { result, usage, estimates } = await judge.judge({ ...options, threads, store, onJudgement });
    const { sequences: _, ...counts } = result;
    return { threads: threads.length, asksModels: judge.asksModels, ...counts, usage, estimates };
  } finally {
    store.putMany(rows);
    store.close();
  }
}

function threadsOf(path: string, { skipInvalid, context }: AnnotateThreadsOptions): Promise<Thread[]> {
  return loadThreads(path, { skipInvalid, onSkipped: context.onNote });
}

async function savedOrTrained(options: AnnotateThreadsOptions, judged: readonly Thread[]): Promise<Judge> {
  const { detector: path, trainOn, task, seed, context } = options;
  if (existsSync(path)) {
    if (trainOn !== undefined) context.onNote(`${path} exists already and is used as it is; ${trainOn} is not read`);
    return openJudge(path);
  }
  if (trainOn === undefined)
    throw new InputError(
      `there is no detector ${path}; give the detector.json of a run, or train one with --train-on <threads>`,
    );
  const threads = await threadsOf(trainOn, options);
  const ids = new Set(threads.map(({ id }) => id));
  const shared = judged.filter(({ id }) => ids.has(id)).length;
  if (shared > 0)
    context.onNote(
      `${shared} of ${judged.length} threads also train the detector, which will judge them better than others`,
    );
  await selectBackend('auto');
  const detector = await trainedDetector({
    threads,
    task: taskIn(threads, { name: task, path: trainOn }),
    seed,
    context,
  });
  makeFolder(dirname(path));
  detector.save(path);
  context.onNote(`the detector is saved as ${path}`);
  return openJudge(path);
}
