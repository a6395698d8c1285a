import { setTimeout as delay } from 'node:timers/promises';
import { type AnnotationRequest, type AnnotationRow, keyOf } from '../annotations/annotation-row.ts';
import type { LeaseTable } from '../annotations/lease-table.ts';
import type { UnreadableTable } from '../annotations/unreadable-table.ts';
import type { Judgement } from '../detector.ts';
import { MalformedAnswerError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import type { CallJournal } from './call-journal.ts';

/** A judgement, or a part that judgements share, identified by the key of its request. */
export interface Question extends Omit<AnnotationRequest, 'sampleIndex'> {
  readonly sampleIndex?: number;
  /** The place where the question was asked first; for people, not part of the key. */
  readonly threadId: string;
  readonly prefixLength: number;
}

/**
 * Returns the stored judgement of a question, or runs `ask` and stores its result.
 * @throws MalformedAnswerError if the answer could not be read, now or earlier; other failures are not stored
 */
export type AskOnce = (question: Question, ask: () => Promise<Judgement>) => Promise<Judgement>;

/** The part of an annotation store that questions need. A dry run has a pretended store. */
export interface JudgementStore {
  getMany(keys: readonly string[]): ReadonlyMap<string, Judgement>;
  /** Stores a judgement and ends its lease. Returns whether it is new. */
  put(row: AnnotationRow): boolean;
  /** The table of unreadable answers. Without it, their questions are asked again. */
  readonly unreadable?: Pick<UnreadableTable, 'find' | 'put' | 'last'>;
  /** Prevents other processes from asking the same question at the same time. */
  readonly leases?: Pick<LeaseTable, 'take' | 'release'> | null;
}

interface AskOnceOptions {
  readonly store: JudgementStore;
  /** Stores the calls of unfinished judgements. */
  readonly calls?: Pick<CallJournal, 'ofJudgement' | 'ended'>;
  /** Whether to ask again if earlier answers could not be read. */
  readonly retryUnreadable?: boolean;
  /** Aborting ends the waiting for other processes, and nothing new is asked. */
  readonly signal?: AbortSignal;
  /** Reports the waiting for other processes. */
  readonly waits?: Waits;
}

/**
 * Asks each question once. In this process all callers share one promise. Among several processes one holds the lease,
 * and the others wait for its answer in the store. After a failure that is not stored, such as that of a service, the
 * next caller tries again.
 */
export function askOnceIn(options: AskOnceOptions): AskOnce {
  const once = new OnceAsker(options);
  return (question, ask) => once.ask(question, ask);
}

/** Time between two checks of other processes' questions, which grows while no answer comes. */
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 500;

type Kept = Judgement | MalformedAnswerError;

interface WaitingQuestion {
  /** Null tells the caller to ask the question itself. */
  resolve(result: Kept | null): void;
  reject(error: unknown): void;
}

class OnceAsker {
  private readonly options: AskOnceOptions;
  private readonly signal: AbortSignal;
  /** Unreadable answers up to this number are asked again. */
  private readonly retriedUpTo: number;
  private readonly underWay = new Map<string, Promise<Judgement>>();
  /** Questions of this turn of the event loop, which are looked up and leased at once. */
  private newcomers = new Map<string, WaitingQuestion>();
  /** Questions that other processes are asking. */
  private readonly elsewhere = new Map<string, WaitingQuestion>();

  constructor(options: AskOnceOptions) {
    const { store, calls, signal, retryUnreadable = false } = options;
    this.options = options;
    this.signal = AbortSignal.any([signal, calls?.ended].filter((each) => each !== undefined));
    this.retriedUpTo = retryUnreadable ? (store.unreadable?.last() ?? 0) : 0;
  }

  ask({ threadId, prefixLength, sampleIndex = 0, ...content }: Question, ask: () => Promise<Judgement>) {
    const request = { ...content, sampleIndex };
    const key = keyOf(request);
    const shared = this.underWay.get(key);
    if (shared !== undefined) return shared;
    const answer = this.keptOrAsked(key, () => this.askAndKeep({ key, request, threadId, prefixLength }, ask));
    this.underWay.set(key, answer);
    const end = () => this.underWay.delete(key);
    answer.then(end, end);
    return answer;
  }

  private async keptOrAsked(key: string, ask: () => Promise<Judgement>): Promise<Judgement> {
    const stored = await new Promise<Kept | null>((resolve, reject) => {
      if (this.newcomers.size === 0) queueMicrotask(() => this.admitNewcomers());
      this.newcomers.set(key, { resolve, reject });
    });
    if (stored instanceof MalformedAnswerError) throw stored;
    if (stored !== null) return stored;
    try {
      return await ask();
    } catch (error) {
      this.release([key]);
      throw error;
    }
  }

  private async askAndKeep(
    { key, ...place }: { key: string } & Pick<AnnotationRow, 'request' | 'threadId' | 'prefixLength'>,
    ask: () => Promise<Judgement>,
  ): Promise<Judgement> {
    const { store, calls } = this.options;
    const started = performance.now();
    try {
      const judgement = await (calls ? calls.ofJudgement(key, ask) : ask());
      const latencyMs = performance.now() - started;
      const isNew = store.put({ judgement, rawResponse: lastText(judgement) ?? null, latencyMs, ...place });
      // If another process was faster, both continue with its judgement.
      return isNew ? judgement : (store.getMany([key]).get(key) ?? judgement);
    } catch (error) {
      if (error instanceof MalformedAnswerError) {
        const { request, threadId, prefixLength } = place;
        const { message: problem, answers } = error;
        store.unreadable?.put({ key, detector: request.detector, threadId, prefixLength, problem, answers });
      }
      throw error;
    }
  }

  private admitNewcomers(): void {
    const arrived = this.newcomers;
    this.newcomers = new Map();
    const isWatching = this.elsewhere.size > 0;
    this.admit(arrived);
    if (!isWatching) void this.watch();
  }

  /** Answers waiting questions from the store, leases the others, and waits for those that another process leases. */
  private admit(waiting: ReadonlyMap<string, WaitingQuestion>): void {
    const { store } = this.options;
    let leased: ReadonlySet<string> = new Set();
    try {
      this.signal.throwIfAborted();
      const answers = this.find([...waiting.keys()]);
      const unknown = [...waiting.keys()].filter((key) => !answers.has(key));
      leased = store.leases?.take(unknown) ?? new Set(unknown);
      // Another process may have stored a judgement and ended its lease in between.
      if (store.leases) for (const [key, answer] of this.find([...leased])) answers.set(key, answer);
      this.release([...leased].filter((key) => answers.has(key)));
      for (const [key, each] of waiting) {
        const isElsewhere = !answers.has(key) && !leased.has(key);
        if (isElsewhere) this.elsewhere.set(key, each);
        else {
          this.elsewhere.delete(key);
          each.resolve(answers.get(key) ?? null);
        }
      }
    } catch (error) {
      this.release([...leased]);
      for (const [key, { reject }] of waiting) {
        this.elsewhere.delete(key);
        reject(error);
      }
    }
  }

  private find(keys: readonly string[]): Map<string, Kept> {
    const { store } = this.options;
    const answers = new Map<string, Kept>();
    for (const [key, problem] of store.unreadable?.find(keys, { after: this.retriedUpTo }) ?? [])
      answers.set(key, new MalformedAnswerError(problem, { answers: [] }));
    for (const [key, judgement] of store.getMany(keys)) answers.set(key, judgement);
    return answers;
  }

  private release(keys: readonly string[]): void {
    try {
      this.options.store.leases?.release(keys);
    } catch {
      // Where that cannot be written, as on a full disk, the leases end with this process.
    }
  }

  private async watch(): Promise<void> {
    const over = this.options.waits?.begin({ kind: 'process', what: 'what other processes are asking' });
    for (let waitMs = FIRST_LOOK_MS; this.elsewhere.size > 0; ) {
      // An abort ends the wait, and the next check rejects the waiting questions.
      await delay(waitMs, undefined, { signal: this.signal }).catch(() => {});
      const before = this.elsewhere.size;
      this.admit(new Map(this.elsewhere));
      waitMs = this.elsewhere.size < before ? FIRST_LOOK_MS : Math.min(2 * waitMs, LONGEST_LOOK_MS);
    }
    over?.();
  }
}

/** The last text before the judgement, for the store and for messages. */
export function lastText({ transcript }: Judgement): string | undefined {
  return transcript.at(-1)?.text;
}
