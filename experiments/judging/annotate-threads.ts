import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AnnotateResult } from '../../experts/annotate.ts';
import { type AnnotationRow, annotationRequest } from '../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { scheduledPrefixes } from '../../experts/scheduled-prefixes.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import { loadThreads, threadsOfStream } from '../../src/data/thread-file.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { isDetectorFile } from '../config/is-detector-file.ts';
import { shareWork } from '../run/line-processes.ts';
import { openJudge, savedDetector } from './judge.ts';
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
  /** Processes that judge by a saved detector; the others run the command `words`, as `answerThreads`. */
  jobs: number;
  words: readonly string[];
  context: WorkContext;
}

export type AnnotatedThreads = Omit<AnnotateResult, 'sequences'> &
  Pick<Judged, 'usage' | 'estimates'> & { readonly threads: number; readonly asksModels: boolean };

export async function annotateThreads(options: AnnotateThreadsOptions): Promise<AnnotatedThreads> {
  const { mode } = options;
  // A mistake in a detector file shows at once, one in the threads only after reading them.
  const judge = isDetectorFile(options.detector) ? await openJudge(options.detector) : null;
  const { skipInvalid, context } = options;
  const threads = (await loadThreads(options.threads, { skipInvalid, onSkipped: context.onNote })).slice(
    0,
    options.limit,
  );
  const judged =
    judge === null
      ? judgedLocally(await savedDetector(options.detector), options)
      : async (of: ToJudge): Promise<AnnotatedThreads> => {
          const { result, usage, estimates } = await judge.judge({ ...options, ...of });
          const { sequences: _, ...counts } = result;
          return { threads: threads.length, asksModels: true, ...counts, usage, estimates };
        };
  // A dry run leaves nothing behind, not even an empty store.
  const store = AnnotationStore.open(mode === 'dry-run' && !existsSync(options.store) ? ':memory:' : options.store);
  try {
    return await judged({ threads, store });
  } finally {
    store.close();
  }
}

type ToJudge = Pick<JudgeOptions, 'threads' | 'store'>;

const rowsAtOnce = 500;

/** Judges with a free detector in several processes. Judgements are stored in the order of the threads. */
function judgedLocally(detector: LocalDetector, options: AnnotateThreadsOptions) {
  const { onCounts, context } = options;
  return async ({ threads, store }: ToJudge): Promise<AnnotatedThreads> => {
    const total = scheduledPrefixes({ ...options, threads }).reduce((sum, { lengths }) => sum + lengths.length, 0);
    const counts = { asked: 0, cached: 0, failed: 0, unreadable: 0, unreadableParts: 0 };
    const rows: AnnotationRow[] = [];
    const onAnswer = (judgements: readonly TimedJudgement[], thread: Thread) => {
      for (const { prefixLength, ...timed } of judgements) {
        const request = annotationRequest({ detector, prefix: prefixOf(thread, prefixLength) });
        rows.push({ request, ...timed, rawResponse: null, threadId: thread.id, prefixLength });
      }
      if (rows.length >= rowsAtOnce) store.putMany(rows.splice(0));
      counts.asked += judgements.length;
      onCounts?.({ ...counts, done: counts.asked, total, waiting: null });
      context.onProgress('judging prefixes', counts.asked, total);
    };
    const here = (thread: Thread) => judgementsOf(thread, detector, options);
    try {
      await shareWork(threads, { ...options, here, onAnswer, signal: context.signal });
    } finally {
      store.putMany(rows);
    }
    const nothing = { failures: [], stopped: null, remaining: 0, usage: [], estimates: null };
    return { threads: threads.length, asksModels: false, ...counts, ...nothing };
  };
}

/** Answers each thread of standard input with the judgements of its prefixes, for another process. */
export async function answerThreads(
  options: JudgedPrefixes & { detector: string },
  { stdin, stdout }: { stdin: AsyncIterable<Uint8Array | string>; stdout: NodeJS.WritableStream },
): Promise<void> {
  const detector = await LocalDetector.load({ path: options.detector });
  for await (const thread of threadsOfStream(stdin, { name: 'standard input' }))
    stdout.write(`${JSON.stringify(await judgementsOf(thread, detector, options))}\n`);
}

type TimedJudgement = Pick<AnnotationRow, 'judgement' | 'latencyMs' | 'prefixLength'>;
type JudgedPrefixes = Pick<AnnotateThreadsOptions, 'schedule' | 'maxPosts' | 'context'>;

async function judgementsOf(
  thread: Thread,
  detector: LocalDetector,
  { context, ...options }: JudgedPrefixes,
): Promise<TimedJudgement[]> {
  const judgements: TimedJudgement[] = [];
  // Otherwise nothing would let Ctrl-C be heard.
  await nextTurn();
  for (const { lengths } of scheduledPrefixes({ ...options, threads: [thread] }))
    for (const prefixLength of lengths) {
      context.signal.throwIfAborted();
      const started = performance.now();
      const judgement = await detector.judge(prefixOf(thread, prefixLength));
      judgements.push({ judgement, latencyMs: performance.now() - started, prefixLength });
    }
  return judgements;
}
