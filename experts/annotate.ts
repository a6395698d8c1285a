import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { type Prefix, prefixOf, type Thread } from '../src/data/thread.ts';
import { InputError, ProviderError } from '../src/errors.ts';
import type { AnnotationRequest } from './annotations/annotation-row.ts';
import type { AnnotationStore } from './annotations/annotation-store.ts';
import { type AnnotateProgress, type AnnotationFailure, AnnotationTally } from './annotations/annotation-tally.ts';
import { Asking } from './annotations/asking.ts';
import type { ClaimTable } from './annotations/claim-table.ts';
import { CommitQueue } from './annotations/commit-queue.ts';
import { HeldClaims } from './annotations/held-claims.ts';
import type { KeptCalls } from './annotations/kept-calls.ts';
import {
  firstOfEachKey,
  type Group,
  heldUntilNext,
  judgementIn,
  type Known,
  type Question,
} from './annotations/question.ts';
import type { UnreadableTable } from './annotations/unreadable-table.ts';
import type { Detector, Judgement } from './detector.ts';
import { type JudgementSequence, judgementSequence } from './judgement-sequence.ts';
import { endsAllCalls } from './llm/failures.ts';
import { inParallel } from './llm/in-parallel.ts';
import { type PrefixSchedule, scheduledLengths } from './prefix-schedule.ts';

/** Threads whose prefixes are looked up in the store at the same time. */
const THREADS_A_LOOKUP = 20;
/** Time between two looks at what other processes are asking. */
const LOOK_MS = 100;
/** What judging the prefixes of some threads came to. */
export interface AnnotateResult {
  /** One for each thread whose prefixes were all asked about. */
  readonly sequences: Map<string, JudgementSequence>;
  /** Prefixes judged now. */
  readonly asked: number;
  /** Prefixes whose judgement was in the store. */
  readonly cached: number;
  /** Prefixes without a judgement. The next run asks about them again, unless their answers could not be read. */
  readonly failed: number;
  /** Those of them that were answered, now or earlier, with something that is no judgement. */
  readonly unreadable: number;
  /** Answers that could not be read and that judgements of this run do without, such as votes of a council. */
  readonly unreadableParts: number;
  readonly failures: readonly AnnotationFailure[];
  /**
   * Why the rest was not asked about: the budget is spent, an endpoint is unusable, or too little of what it says can be
   * read. Null when nothing is left.
   */
  readonly stopped: ProviderError | null;
  /** Prefixes that were not asked about. */
  readonly remaining: number;
}

export interface AnnotateOptions {
  threads: readonly Thread[];
  detector: Detector;
  store: Pick<AnnotationStore, 'keyOf' | 'getMany' | 'putMany'> & {
    /** Where answers are kept that could not be read; without it they are forgotten. */
    readonly unreadable?: Pick<UnreadableTable, 'find' | 'put' | 'forget'> | undefined;
    readonly claims?: Pick<ClaimTable, 'take' | 'release'> | null | undefined;
  };
  /** Keeps other processes from asking the same at the same time, where asking costs more than that. True by default. */
  claims?: boolean | undefined;
  /** Ask again where an earlier answer could not be read. */
  retryUnreadable?: boolean | undefined;
  /** The largest share of the answers of this run that may be unreadable, as soon as there are 20 of them. */
  maxUnreadable?: number | undefined;
  /** Posts of a thread that are judged; for the sequences, later ones do not exist. */
  maxPosts?: number | undefined;
  schedule?: PrefixSchedule | undefined;
  /** Judgements under way at the same time. */
  concurrency?: number | undefined;
  sampleIndex?: number | undefined;
  /** Keeps the calls of judgements that are not finished, where the detector sends its calls through it. */
  calls?: Pick<KeptCalls, 'ofJudgement'> | undefined;
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
  return new AnnotationRun(options).run();
}

class AnnotationRun {
  private readonly threads: readonly Thread[];
  private readonly detector: Detector;
  private readonly store: AnnotateOptions['store'];
  /** Null where no other process could ask the same. */
  private readonly claims: HeldClaims | null;
  private readonly commits: CommitQueue;
  private readonly asking: Asking;
  private readonly maxPosts: number;
  private readonly schedule: PrefixSchedule;
  private readonly concurrency: number;
  private readonly sampleIndex: number;
  private readonly retryUnreadable: boolean;
  private readonly signal: AbortSignal | undefined;

  private readonly tally: AnnotationTally;
  private readonly openGroups = new Set<Group>();
  /** Nothing new is begun, and nobody waits for other processes any more. */
  private hasFailed = false;
  /** What other processes were asking when it was this one's turn. */
  private readonly elsewhere: Question[] = [];
  private readonly finished = new Map<string, JudgementSequence>();

  constructor(options: AnnotateOptions) {
    const { threads, maxPosts = 500, schedule = { name: 'every' }, concurrency = 1, sampleIndex = 0 } = options;
    const { maxUnreadable = 0.5, retryUnreadable = false } = options;
    checkOptions({ threads, maxPosts, concurrency, maxUnreadable });
    this.threads = threads;
    this.detector = options.detector;
    this.store = options.store;
    const { claims } = options.store;
    this.claims = claims && (options.claims ?? true) ? new HeldClaims(claims) : null;
    this.maxPosts = maxPosts;
    this.schedule = schedule;
    this.concurrency = concurrency;
    this.sampleIndex = sampleIndex;
    this.retryUnreadable = retryUnreadable;
    this.signal = options.signal;
    const total = threads.reduce((sum, thread) => sum + this.lengthsOf(thread).length, 0);
    this.tally = new AnnotationTally({ total, maxUnreadable, onProgress: options.onProgress });
    const stopping = new AbortController();
    this.commits = new CommitQueue({ store: options.store, onFailure: (error) => stopping.abort(error) });
    this.asking = new Asking({
      detector: options.detector,
      commits: this.commits,
      claims: this.claims,
      unreadable: options.store.unreadable,
      calls: options.calls,
      tally: this.tally,
      stopping,
      signal: options.signal,
    });
  }

  async run(): Promise<AnnotateResult> {
    let stopped: ProviderError | null = null;
    try {
      await inParallel({
        items: this.openQuestions(),
        concurrency: this.concurrency,
        work: (question) =>
          this.settle(question).catch((error: unknown) => {
            this.hasFailed = true;
            throw error;
          }),
      });
      this.signal?.throwIfAborted();
    } catch (error) {
      this.signal?.throwIfAborted();
      if (!(error instanceof ProviderError && endsAllCalls(error))) throw error;
      stopped = error;
      for (const group of this.openGroups) this.finish(group);
    } finally {
      this.commits.close();
      this.claims?.releaseAll();
    }
    return this.result(stopped);
  }

  /** Questions without an answer in the store. The next group is looked up as soon as a worker has nothing to do. */
  private async *openQuestions(): AsyncGenerator<Question, void> {
    for (let start = 0; start < this.threads.length; start += THREADS_A_LOOKUP) {
      // Where the store knows every answer, nothing else would let Ctrl-C be heard.
      await nextTurn();
      if (this.signal?.aborted) return;
      const missing = this.lookUp(this.threads.slice(start, start + THREADS_A_LOOKUP));
      // Claimed as they are needed, so that other processes find something to do.
      for (let first = 0; first < missing.length; first += this.concurrency)
        for (const question of this.claimed(missing.slice(first, first + this.concurrency))) {
          if (this.signal?.aborted) return;
          yield question;
        }
    }
    yield* this.askedByOthers();
  }

  /** Claims the questions. Returns those that are to be asked here; others are being asked by another process. */
  private claimed(questions: readonly Question[]): Question[] {
    const open = this.claims ? this.leftByOthers(questions, this.claims) : [...questions];
    // From now on, what others find there is new.
    if (this.retryUnreadable) this.store.unreadable?.forget(open.map(({ key }) => key));
    return open;
  }

  private leftByOthers(questions: readonly Question[], claims: HeldClaims): Question[] {
    const taken = claims.take(questions.map(({ key }) => key));
    const own = questions.filter(({ key }) => taken.has(key));
    this.elsewhere.push(...questions.filter(({ key }) => !taken.has(key)));
    // Another process may have finished with some of them since they were looked up.
    return this.settledByOthers(own, { readsUnreadable: !this.retryUnreadable });
  }

  /** Settles what other processes have answered. Returns the rest. */
  private settledByOthers(
    questions: readonly Question[],
    { readsUnreadable }: { readsUnreadable: boolean },
  ): Question[] {
    const known = this.known(questions);
    return questions.filter((question) => {
      const answer = known.get(question.key);
      if (answer === undefined || ('problem' in answer && !readsUnreadable)) return true;
      this.claims?.release(question.key);
      this.countKnown(question, answer);
      this.settled(question, judgementIn(answer));
      return false;
    });
  }

  /** Waits for what other processes are asking, and asks what they leave. */
  private async *askedByOthers(): AsyncGenerator<Question, void> {
    while (this.elsewhere.length > 0) {
      const waiting = this.settledByOthers(this.elsewhere.splice(0), { readsUnreadable: true });
      this.elsewhere.push(...waiting.slice(this.concurrency));
      for (const question of this.claimed(waiting.slice(0, this.concurrency))) {
        if (this.signal?.aborted) return;
        yield question;
      }
      if (this.signal?.aborted || this.hasFailed) return;
      if (this.elsewhere.length > 0) await delay(LOOK_MS);
    }
  }

  /** Opens a group for the threads and returns those of its questions that must be asked. */
  private lookUp(threads: readonly Thread[]): Question[] {
    const { detector, sampleIndex, store } = this;
    const group: Group = { threads, questions: [], answers: new Map(), unsettled: 0 };
    for (const thread of threads)
      for (const length of this.lengthsOf(thread)) {
        const request = annotationRequest({ detector, prefix: prefixOf(thread, length), sampleIndex });
        group.questions.push({ group, thread, length, request, key: store.keyOf(request) });
      }
    const known = this.known(group.questions);
    if (this.retryUnreadable) for (const [key, answer] of known) if ('problem' in answer) known.delete(key);
    for (const question of group.questions) {
      const answer = known.get(question.key);
      if (answer === undefined) continue;
      group.answers.set(question.key, judgementIn(answer));
      this.countKnown(question, answer);
    }
    const missing = firstOfEachKey(group.questions.filter(({ key }) => !group.answers.has(key)));
    group.unsettled = missing.length;
    this.openGroups.add(group);
    // A question that stands here twice is asked once, and counts as known the second time.
    const repeated = group.questions.filter(({ key }) => !known.has(key)).length - missing.length;
    this.tally.countCached(repeated);
    this.tally.settle(group.questions.length - missing.length);
    if (missing.length === 0) this.finish(group);
    return missing;
  }

  /** What the store knows of these questions. */
  private known(questions: readonly Question[]): Map<string, Known> {
    const keys = questions.map(({ key }) => key);
    // What was answered to another thread with the same texts a moment ago counts as well.
    this.commits.flush();
    const known = new Map<string, Known>();
    for (const [key, problem] of this.store.unreadable?.find(keys) ?? []) known.set(key, { problem });
    for (const [key, judgement] of this.store.getMany(keys)) known.set(key, { judgement });
    return known;
  }

  private countKnown({ thread, length }: Question, answer: Known): void {
    if ('judgement' in answer) this.tally.countCached();
    else this.tally.countUnreadable({ threadId: thread.id, prefixLength: length, message: answer.problem });
  }

  private async settle(question: Question): Promise<void> {
    const answer = await this.asking.forAnotherThread(question.key);
    if (answer !== null) this.countKnown(question, answer);
    this.settled(question, answer === null ? await this.asking.ask(question) : judgementIn(answer));
    await this.commits.commitWhenDue();
  }

  private settled({ group, key }: Question, judgement: Judgement | null): void {
    group.answers.set(key, judgement);
    this.tally.settle();
    if (--group.unsettled === 0) this.finish(group);
  }

  /** Makes the sequences of the group's threads, except of those with prefixes that nobody asked about. */
  private finish(group: Group): void {
    this.openGroups.delete(group);
    this.commits.flush();
    // The first answer to a question stays; who comes second goes on with it.
    if (this.commits.hasLost)
      for (const [key, judgement] of this.store.getMany([...group.answers.keys()])) group.answers.set(key, judgement);
    for (const thread of group.threads) {
      const own = group.questions.filter((question) => question.thread === thread);
      if (own.some(({ key }) => !group.answers.has(key))) continue;
      const judgements = heldUntilNext({ own, answers: group.answers, posts: this.postsOf(thread) });
      const { labels } = this.detector;
      this.finished.set(thread.id, judgementSequence({ threadId: thread.id, labels, judgements }));
    }
  }

  private result(stopped: ProviderError | null): AnnotateResult {
    // In the order of the threads, whatever the order in which they were finished.
    const sequences = new Map<string, JudgementSequence>();
    for (const { id } of this.threads) {
      const sequence = this.finished.get(id);
      if (sequence !== undefined) sequences.set(id, sequence);
    }
    return { sequences, ...this.tally.result(stopped) };
  }

  private lengthsOf(thread: Thread): number[] {
    return scheduledLengths({ schedule: this.schedule, posts: this.postsOf(thread) });
  }

  private postsOf(thread: Thread): number {
    return Math.min(thread.posts.length, this.maxPosts);
  }
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
