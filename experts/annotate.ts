import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Prefix, prefixOf, type Thread } from '../src/data/thread.ts';
import { InputError, ProviderError } from '../src/errors.ts';
import type { AnnotationRequest } from './annotations/annotation-row.ts';
import type { AnnotationStore } from './annotations/annotation-store.ts';
import { CommitQueue } from './annotations/commit-queue.ts';
import type { KeptCalls } from './annotations/kept-calls.ts';
import type { Detector, Judgement } from './detector.ts';
import { type JudgementSequence, judgementSequence } from './judgement-sequence.ts';
import { BudgetSpentError, EndpointUnusableError } from './llm/failures.ts';
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
  /** Of every thread whose prefixes were all asked about. */
  readonly sequences: Map<string, JudgementSequence>;
  /** Prefixes judged now, found in the store, and given up on; a failed one is asked again by the next run. */
  readonly asked: number;
  readonly cached: number;
  readonly failed: number;
  readonly failures: readonly { readonly threadId: string; readonly prefixLength: number; readonly message: string }[];
  /** Why the rest was not asked about: the budget is spent, or an endpoint cannot be used at all. Null when nothing is left. */
  readonly stopped: ProviderError | null;
  /** Prefixes that were not asked about. */
  readonly remaining: number;
}

export interface AnnotateOptions {
  threads: readonly Thread[];
  detector: Detector;
  store: Pick<AnnotationStore, 'keyOf' | 'getMany' | 'putMany'>;
  /** Posts of a thread that are judged; later ones do not exist for the sequences. */
  maxPosts?: number;
  schedule?: PrefixSchedule;
  /** Judgements under way at the same time. */
  concurrency?: number;
  sampleIndex?: number;
  /** Keeps the calls of judgements that come to no end, where the detector sends its calls through it. */
  calls?: Pick<KeptCalls, 'ofJudgement'>;
  /** What of the prefix the detector reads; the texts of its posts unless it reads more. */
  inputOf?: (prefix: Prefix) => unknown;
  onProgress?: (progress: AnnotateProgress) => void;
  /** Aborting stops asking; answers under way are awaited and stored, then `annotate` throws the signal's reason. */
  signal?: AbortSignal;
}

interface Question {
  readonly group: Group;
  readonly thread: Thread;
  readonly length: number;
  readonly request: AnnotationRequest;
  readonly key: string;
}

/** Threads that are looked up together; their sequences are made when the last open question is settled. */
interface Group {
  readonly threads: readonly Thread[];
  readonly questions: readonly Question[];
  readonly answers: Map<string, Judgement | null>;
  open: number;
}

/** The question that a detector is asked about a prefix, as the store knows it. */
export function annotationRequest(options: {
  detector: Detector;
  prefix: Prefix;
  sampleIndex?: number;
  inputOf?: (prefix: Prefix) => unknown;
}): AnnotationRequest {
  const { detector, prefix, sampleIndex = 0, inputOf = textsOf } = options;
  const { name, version, options: relevant } = detector;
  return { detector: name, version, options: relevant, input: inputOf(prefix), sampleIndex };
}

function textsOf(prefix: Prefix): unknown {
  return prefix.posts.map((post) => post.text);
}

/** Judges the prefixes of every thread, asking the detector only what the store does not know. */
export async function annotate(options: AnnotateOptions): Promise<AnnotateResult> {
  const { threads, detector, store, calls, onProgress, signal, inputOf = textsOf } = options;
  const { maxPosts = 500, schedule = { name: 'every' }, concurrency = 1, sampleIndex = 0 } = options;
  checkOptions({ threads, maxPosts, concurrency });

  const postsOf = (thread: Thread) => Math.min(thread.posts.length, maxPosts);
  const lengthsOf = (thread: Thread) => scheduledLengths({ schedule, posts: postsOf(thread) });
  const counts = { done: 0, total: threads.reduce((sum, thread) => sum + lengthsOf(thread).length, 0) };
  const outcome = { asked: 0, cached: 0, failed: 0 };
  const failures: AnnotateResult['failures'][number][] = [];
  const made = new Map<string, JudgementSequence>();
  const commits = new CommitQueue(store);
  const report = () => onProgress?.({ ...counts, ...outcome });

  const groups = new Set<Group>();
  const underWay = new Map<string, Promise<Judgement | null>>();
  let waiting: Question[] = [];
  let nextThread = 0;
  let lookUp: Promise<void> | null = null;

  /** Workers never wait for the end of a group: the next one is looked up as soon as a worker finds nothing to do. */
  async function nextQuestion(): Promise<Question | null> {
    while (waiting.length === 0 && nextThread < threads.length && !signal?.aborted) {
      lookUp ??= lookUpGroup().finally(() => {
        lookUp = null;
      });
      await lookUp;
    }
    return signal?.aborted ? null : (waiting.pop() ?? null);
  }

  async function lookUpGroup(): Promise<void> {
    // Where all is known, nothing else would let Ctrl-C be heard.
    await nextTurn();
    const chosen = threads.slice(nextThread, nextThread + THREADS_A_LOOKUP);
    nextThread += chosen.length;
    const questions: Question[] = [];
    const group: Group = { threads: chosen, questions, answers: new Map(), open: 0 };
    for (const thread of chosen)
      for (const length of lengthsOf(thread)) {
        const request = annotationRequest({ detector, prefix: prefixOf(thread, length), sampleIndex, inputOf });
        questions.push({ group, thread, length, request, key: store.keyOf(request) });
      }
    // What was answered a moment ago may be the answer to one of these as well.
    commits.flush();
    for (const [key, judgement] of store.getMany(questions.map(({ key }) => key))) group.answers.set(key, judgement);
    const missing = firstOfEachKey(questions.filter(({ key }) => !group.answers.has(key)));
    group.open = missing.length;
    groups.add(group);
    outcome.cached += questions.length - missing.length;
    counts.done += questions.length - missing.length;
    report();
    if (missing.length === 0) close(group);
    else waiting = missing.toReversed();
  }

  function close(group: Group): void {
    groups.delete(group);
    for (const thread of group.threads) {
      const own = group.questions.filter((question) => question.thread === thread);
      // Left open by what ended the annotation.
      if (own.some(({ key }) => !group.answers.has(key))) continue;
      const judgements = heldUntilNext({ own, answers: group.answers, posts: postsOf(thread) });
      made.set(thread.id, judgementSequence({ threadId: thread.id, labels: detector.labels, judgements }));
    }
  }

  async function settle(question: Question): Promise<void> {
    const { group, key } = question;
    // The same texts in another thread, asked about right now.
    const elsewhere = await underWay.get(key)?.catch(() => null);
    if (elsewhere) outcome.cached++;
    const judgement = elsewhere ?? (await ask(question));
    group.answers.set(key, judgement);
    counts.done++;
    report();
    if (--group.open === 0) close(group);
    await commits.commitWhenDue();
  }

  async function ask(question: Question): Promise<Judgement | null> {
    const asked = answer(question);
    underWay.set(question.key, asked);
    try {
      return await asked;
    } finally {
      underWay.delete(question.key);
    }
  }

  async function answer({ thread, length, request, key }: Question): Promise<Judgement | null> {
    const started = performance.now();
    const judge = () => detector.judge(prefixOf(thread, length));
    try {
      const judgement = await (calls ? calls.ofJudgement(key, judge) : judge());
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
      if (!(error instanceof ProviderError) || isEnd(error) || signal?.aborted) throw error;
      outcome.failed++;
      failures.push({ threadId: thread.id, prefixLength: length, message: error.message });
      return null;
    }
  }

  let stopped: ProviderError | null = null;
  try {
    await inParallel({ next: nextQuestion, concurrency, work: settle });
    signal?.throwIfAborted();
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof ProviderError && isEnd(error))) throw error;
    stopped = error;
    for (const group of groups) close(group);
  } finally {
    commits.close();
  }
  const sequences = new Map(threads.flatMap(({ id }) => (made.has(id) ? [[id, made.get(id)!] as const] : [])));
  return { sequences, ...outcome, failures, stopped, remaining: counts.total - counts.done };
}

/** After these, asking about anything else is in vain. */
function isEnd(error: unknown): boolean {
  return error instanceof BudgetSpentError || error instanceof EndpointUnusableError;
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
 * Runs `work` on one item after the other, so many at a time. After a failure no item is begun; what is under way is
 * awaited, and then the first failure is thrown, a defect before the end of a budget.
 */
async function inParallel<T>(options: {
  next: () => Promise<T | null>;
  concurrency: number;
  work: (item: T) => Promise<void>;
}): Promise<void> {
  const { next, work, concurrency } = options;
  const errors: unknown[] = [];
  const worker = async () => {
    try {
      while (errors.length === 0) {
        const item = await next();
        if (item === null || errors.length > 0) return;
        await work(item);
      }
    } catch (error) {
      errors.push(error);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (errors.length > 0) throw errors.find((error) => !isEnd(error)) ?? errors[0];
}
