import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Prefix, prefixOf, type Thread } from '../src/data/thread.ts';
import { InputError, ProviderError } from '../src/errors.ts';
import type { AnnotationRequest } from './annotations/annotation-row.ts';
import { type AnnotateProgress, type AnnotationFailure, annotationTally } from './annotations/annotation-tally.ts';
import { type JudgementQueueOptions, judgementQueue } from './annotations/judgement-queue.ts';
import { type PrefixQuestion, QuestionGroup } from './annotations/question-group.ts';
import type { Detector } from './detector.ts';
import type { JudgementSequence } from './judgement-sequence.ts';
import { endsAllCalls } from './llm/failures.ts';
import { type PrefixSchedule, scheduledLengths } from './prefix-schedule.ts';

/** Threads whose prefixes are looked up in the store at the same time. */
const THREADS_A_LOOKUP = 20;

const TOLD_EVERY_MS = 1000;

/** What judging the prefixes of some threads came to. */
export interface AnnotateResult extends Omit<AnnotateProgress, 'done' | 'total' | 'waiting'> {
  /** One for each thread whose prefixes were all asked about. */
  readonly sequences: Map<string, JudgementSequence>;
  readonly failures: readonly AnnotationFailure[];
  /**
   * Why the rest was not asked about: the budget is spent, an endpoint is unusable, or too little of what it says can be
   * read. Null when nothing is left.
   */
  readonly stopped: ProviderError | null;
  /** Prefixes that were not asked about. */
  readonly remaining: number;
}

export interface AnnotateOptions
  extends Pick<JudgementQueueOptions, 'detector' | 'store' | 'leases' | 'calls' | 'retryUnreadable' | 'waits'> {
  threads: readonly Thread[];
  /** The largest share of the answers of this run that may be unreadable, as soon as there are 20 of them. */
  maxUnreadable?: number | undefined;
  /** Posts of a thread that are judged; for the sequences, later ones do not exist. */
  maxPosts?: number | undefined;
  schedule?: PrefixSchedule | undefined;
  /** Judgements under way at the same time. */
  concurrency?: number | undefined;
  sampleIndex?: number | undefined;
  onProgress?: ((progress: AnnotateProgress) => void) | undefined;
  /** Aborting stops asking; judgements under way are awaited and stored, then `annotate` throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** The question that a detector is asked about a prefix, as the store knows it. */
export function annotationRequest(options: {
  detector: Detector;
  prefix: Prefix;
  sampleIndex?: number | undefined;
}): AnnotationRequest {
  const { detector, prefix, sampleIndex = 0 } = options;
  const { name, version, options: relevant } = detector;
  const input = detector.inputOf ? detector.inputOf(prefix) : prefix.posts.map(({ text }) => text);
  return { detector: name, version, options: relevant, input, sampleIndex };
}

/**
 * Judges the prefixes of every thread and stores the judgements, asking the detector only what the store does not know.
 * @throws InputError where two threads share an id or an option is out of range
 */
export async function annotate(options: AnnotateOptions): Promise<AnnotateResult> {
  const { threads, detector, store, sampleIndex, onProgress, waits } = options;
  const { maxPosts = 500, schedule = { name: 'every' }, concurrency = 1, maxUnreadable = 0.5 } = options;
  checkOptions({ threads, maxPosts, concurrency, maxUnreadable });
  const openGroups = new Set<QuestionGroup>();
  const finished = new Map<string, JudgementSequence>();
  const postsOf = (thread: Thread) => Math.min(thread.posts.length, maxPosts);
  const lengthsOf = (thread: Thread) => scheduledLengths({ schedule, posts: postsOf(thread) });
  const total = threads.reduce((sum, thread) => sum + lengthsOf(thread).length, 0);
  const tally = annotationTally({ total, maxUnreadable, onProgress, waits });
  const queue = judgementQueue({
    ...options,
    concurrency,
    tally,
    onSettled: ({ group, key }, judgement) => {
      group.settle(key, judgement);
      tally.settle();
      if (group.isSettled) finish(group);
    },
  });

  async function askAboutAll(): Promise<void> {
    for (let start = 0; start < threads.length && !queue.isEnding(); start += THREADS_A_LOOKUP) {
      await queue.add(lookUp(threads.slice(start, start + THREADS_A_LOOKUP)));
      // Where the store knows every answer, nothing else would let Ctrl-C be heard.
      await nextTurn();
    }
  }

  /** Opens a group for the threads and returns those of its questions that the store does not know. */
  function lookUp(some: readonly Thread[]): PrefixQuestion[] {
    const group = new QuestionGroup({ threads: some, questionsAbout });
    const known = queue.find(group.keys);
    for (const { key, threadId, prefixLength } of group.questions) {
      const answer = known.get(key);
      if (answer === undefined) continue;
      if ('answer' in answer) tally.countCached();
      else tally.countUnreadable({ threadId, prefixLength, message: answer.failure.message });
      group.settle(key, 'answer' in answer ? answer.answer : null);
    }
    openGroups.add(group);
    const open = group.open();
    // A question that stands here twice is asked once, and counts as known the second time.
    tally.countCached(group.keys.filter((key) => !known.has(key)).length - open.length);
    tally.settle(group.questions.length - open.length);
    if (group.isSettled) finish(group);
    return open;
  }

  function questionsAbout(thread: Thread, group: QuestionGroup): PrefixQuestion[] {
    return lengthsOf(thread).map((prefixLength) => {
      const request = annotationRequest({ detector, prefix: prefixOf(thread, prefixLength), sampleIndex });
      return { key: store.keyOf(request), request, threadId: thread.id, prefixLength, thread, group };
    });
  }

  /** Makes the sequences of the group's threads, except of those with prefixes that nobody asked about. */
  function finish(group: QuestionGroup): void {
    const { commits } = queue;
    openGroups.delete(group);
    commits.flush();
    // The first answer to a question stays; who comes second goes on with it.
    if (commits.hasLost()) for (const [key, judgement] of store.getMany(group.keys)) group.settle(key, judgement);
    for (const sequence of group.sequences({ labels: detector.labels, postsOf }))
      finished.set(sequence.threadId, sequence);
  }

  let stopped: ProviderError | null = null;
  // Nothing is settled while all wait, but what they wait for is told.
  const telling = setInterval(() => waits?.inWords() && tally.settle(0), TOLD_EVERY_MS);
  try {
    await askAboutAll().catch(queue.fail);
    await queue.settled();
  } catch (error) {
    if (!(error instanceof ProviderError && endsAllCalls(error))) throw error;
    stopped = error;
    for (const group of openGroups) finish(group);
  } finally {
    clearInterval(telling);
    queue.close();
  }
  // In the order of the threads, whatever the order in which they were finished.
  const sequences = threads.flatMap(({ id }) => {
    const sequence = finished.get(id);
    return sequence === undefined ? [] : [[id, sequence] as const];
  });
  return { sequences: new Map(sequences), ...tally.result(stopped) };
}

function checkOptions(options: {
  threads: readonly Thread[];
  maxPosts: number;
  concurrency: number;
  maxUnreadable: number;
}): void {
  if (!(options.maxUnreadable >= 0 && options.maxUnreadable <= 1))
    throw new InputError(`annotate: maxUnreadable is ${options.maxUnreadable}; it must be a share from 0 to 1`);
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
