import { performance } from 'node:perf_hooks';
import { type Prefix, prefixOf, type Thread } from '../src/data/thread.ts';
import { InputError, ProviderError } from '../src/errors.ts';
import type { AnnotationRequest } from './annotation-row.ts';
import type { AnnotationStore } from './annotation-store.ts';
import { CommitQueue } from './commit-queue.ts';
import type { Detector, Judgement } from './detector.ts';
import { type JudgementSequence, judgementSequence } from './judgement-sequence.ts';
import { type PrefixSchedule, scheduledLengths } from './prefix-schedule.ts';

const THREADS_A_LOOKUP = 20;

export interface AnnotateProgress {
  readonly done: number;
  readonly total: number;
  readonly asked: number;
  readonly cached: number;
  readonly failed: number;
}

export interface AnnotateResult {
  readonly sequences: Map<string, JudgementSequence>;
  /** Prefixes judged now, found in the store, and given up on; a failed one is asked again by the next run. */
  readonly asked: number;
  readonly cached: number;
  readonly failed: number;
  readonly failures: readonly { readonly threadId: string; readonly prefixLength: number; readonly message: string }[];
}

export interface AnnotateOptions {
  threads: readonly Thread[];
  detector: Detector;
  store: AnnotationStore;
  /** Posts of a thread that are judged; later ones do not exist for the sequences. */
  maxPosts?: number;
  schedule?: PrefixSchedule;
  /** Judgements under way at the same time. */
  concurrency?: number;
  sampleIndex?: number;
  /** What of the prefix the detector reads; the texts of its posts unless it reads more. */
  inputOf?: (prefix: Prefix) => unknown;
  onProgress?: (progress: AnnotateProgress) => void;
  /** Aborting stops asking; answers under way are awaited and stored, then `annotate` throws the signal's reason. */
  signal?: AbortSignal;
}

interface Question {
  readonly thread: Thread;
  readonly length: number;
  readonly request: AnnotationRequest;
  readonly key: string;
}

/** Judges the prefixes of every thread, asking the detector only what the store does not know. */
export async function annotate(options: AnnotateOptions): Promise<AnnotateResult> {
  const { threads, detector, store, onProgress, signal } = options;
  const { maxPosts = 500, schedule = { name: 'every' }, concurrency = 1, sampleIndex = 0 } = options;
  const inputOf = options.inputOf ?? ((prefix: Prefix) => prefix.posts.map((post) => post.text));
  checkOptions({ threads, maxPosts, concurrency });

  const postsOf = (thread: Thread) => Math.min(thread.posts.length, maxPosts);
  const lengthsOf = (thread: Thread) => scheduledLengths({ schedule, posts: postsOf(thread) });
  const counts = { done: 0, total: threads.reduce((sum, thread) => sum + lengthsOf(thread).length, 0) };
  const outcome = { asked: 0, cached: 0, failed: 0 };
  const failures: AnnotateResult['failures'][number][] = [];
  const sequences = new Map<string, JudgementSequence>();
  const commits = new CommitQueue(store);
  const report = () => onProgress?.({ ...counts, ...outcome });

  async function answer(question: Question): Promise<Judgement | null> {
    const { thread, length, request } = question;
    const started = performance.now();
    try {
      const judgement = await detector.judge(prefixOf(thread, length));
      outcome.asked++;
      commits.add({
        request,
        judgement,
        rawResponse: judgement.transcript.at(-1)?.text ?? null,
        latencyMs: performance.now() - started,
        threadId: thread.id,
        prefixLength: length,
      });
      return judgement;
    } catch (error) {
      // An answer that could not be had leaves a gap; everything else is the user's to solve, or a defect.
      if (!(error instanceof ProviderError)) throw error;
      outcome.failed++;
      failures.push({ threadId: thread.id, prefixLength: length, message: error.message });
      return null;
    } finally {
      counts.done++;
      report();
    }
  }

  try {
    for (let start = 0; start < threads.length; start += THREADS_A_LOOKUP) {
      signal?.throwIfAborted();
      const group = threads.slice(start, start + THREADS_A_LOOKUP);
      const questions = group.flatMap((thread) =>
        lengthsOf(thread).map((length): Question => {
          const { name, version, options } = detector;
          const input = inputOf(prefixOf(thread, length));
          const request = { detector: name, version, options, input, sampleIndex };
          return { thread, length, request, key: store.keyOf(request) };
        }),
      );
      const known = store.getMany(questions.map(({ key }) => key));
      const missing = firstOfEachKey(questions.filter(({ key }) => !known.has(key)));
      outcome.cached += questions.length - missing.length;
      counts.done += questions.length - missing.length;
      report();

      const answers = new Map<string, Judgement | null>(known);
      await inParallel({
        items: missing,
        concurrency,
        ...(signal && { signal }),
        work: async (question) => {
          answers.set(question.key, await answer(question));
          await commits.commitWhenDue();
        },
      });
      for (const thread of group) {
        const own = questions.filter((question) => question.thread === thread);
        const judgements = heldUntilNext({ own, answers, posts: postsOf(thread) });
        sequences.set(thread.id, judgementSequence({ threadId: thread.id, labels: detector.labels, judgements }));
      }
    }
  } finally {
    commits.close();
  }
  return { sequences, ...outcome, failures };
}

function checkOptions(options: { threads: readonly Thread[]; maxPosts: number; concurrency: number }): void {
  for (const name of ['maxPosts', 'concurrency'] as const)
    if (!Number.isInteger(options[name]) || options[name] < 1)
      throw new InputError(`annotate: ${name} is ${options[name]}; it must be a whole number of at least 1`);
  const seen = new Set<string>();
  for (const { id } of options.threads) {
    if (seen.has(id))
      throw new InputError(`annotate: two threads have the id ${JSON.stringify(id)}; ids must be unique in a data set`);
    seen.add(id);
  }
}

/** Two prefixes may read alike (the same claim posted twice); the question is asked once. */
function firstOfEachKey(questions: readonly Question[]): Question[] {
  return [...new Map(questions.toReversed().map((question) => [question.key, question])).values()].reverse();
}

/** One entry a prefix length: where a prefix was not asked about, the last judgement before it still holds. */
function heldUntilNext(options: {
  own: readonly Question[];
  answers: ReadonlyMap<string, Judgement | null>;
  posts: number;
}): (Judgement | null)[] {
  const judgements = new Array<Judgement | null>(options.posts).fill(null);
  for (const { length, key } of options.own) judgements.fill(options.answers.get(key) ?? null, length - 1);
  return judgements;
}

/**
 * Runs `work` on the items in order, so many at a time. After an abort or a failure no item is begun; what is under way
 * is awaited, and then the first failure, or the signal's reason, is thrown.
 */
async function inParallel<T>(options: {
  items: readonly T[];
  concurrency: number;
  work: (item: T) => Promise<void>;
  signal?: AbortSignal;
}): Promise<void> {
  const { items, work, signal } = options;
  const errors: unknown[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length && errors.length === 0 && !signal?.aborted) {
      try {
        await work(items[next++]);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.concurrency, items.length) }, worker));
  signal?.throwIfAborted();
  if (errors.length > 0) throw errors[0];
}
