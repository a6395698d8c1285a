import type { AnnotateResult } from '../../experts/annotate.ts';
import type { AnnotationRow } from '../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { openJudge } from './judge.ts';
import type { Judged, JudgeOptions } from './judge-options.ts';

export interface AnnotateThreadsOptions
  extends Pick<
    JudgeOptions,
    'mode' | 'budget' | 'schedule' | 'maxPosts' | 'concurrency' | 'retryUnreadable' | 'maxUnreadable' | 'onCounts'
  > {
  threads: string;
  store: string;
  /** A detector file, or a saved detector. */
  detector: string;
  limit?: number;
  skipInvalid: boolean;
  context: WorkContext;
}

export type AnnotatedThreads = Omit<AnnotateResult, 'sequences'> &
  Pick<Judged, 'usage' | 'estimates'> & { readonly threads: number; readonly asksModels: boolean };

/** Judgements of a free detector that are stored at once. */
const rowsAtOnce = 500;

export async function annotateThreads(options: AnnotateThreadsOptions): Promise<AnnotatedThreads> {
  const { mode, skipInvalid, limit, context } = options;
  // A mistake in a detector file shows at once, one in the threads only after reading them.
  const judge = await openJudge(options.detector);
  const reading = { skipInvalid, onSkipped: context.onNote };
  const threads = (await loadThreads(options.threads, reading)).slice(0, limit);
  // A dry run leaves nothing behind, not even an empty store.
  const store = AnnotationStore.open(
    mode === 'dry-run' && !AnnotationStore.isThere(options.store) ? ':memory:' : options.store,
  );
  const rows: AnnotationRow[] = [];
  const onJudgement = (row: AnnotationRow) => {
    rows.push(row);
    if (rows.length >= rowsAtOnce) store.putMany(rows.splice(0));
  };
  try {
    const judging = judge.judge({ ...options, threads, store, onJudgement });
    const { result, usage, estimates } = await judging.finally(() => store.putMany(rows));
    const { sequences: _, ...counts } = result;
    return { threads: threads.length, asksModels: judge.asksModels, ...counts, usage, estimates };
  } finally {
    store.close();
  }
}
