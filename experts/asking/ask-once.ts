import { setTimeout as delay } from 'node:timers/promises';
import { type AnnotationRequest, type AnnotationRow, keyOf } from '../annotations/annotation-row.ts';
import type { LeaseTable } from '../annotations/lease-table.ts';
import type { UnreadableTable } from '../annotations/unreadable-table.ts';
import type { Judgement } from '../detector.ts';
import { MalformedAnswerError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import type { CallJournal } from './call-journal.ts';

/** A judgement, or a part that judgements share, that is asked for under the key of its request. */
export interface Question extends Omit<AnnotationRequest, 'sampleIndex'> {
  readonly sampleIndex?: number;
  /** Where it was asked first; for people, not part of the key. */
  readonly threadId: string;
  readonly prefixLength: number;
}

/**
 * The judgement that is kept for a question. `ask` runs where there is none, and what it returns is kept.
 * @throws MalformedAnswerError where the answer cannot be read, now or when it was given; other failures are not kept
 */
export type AskOnce = (question: Question, ask: () => Promise<Judgement>) => Promise<Judgement>;

/** What of the annotation store questions need; a dry run has a pretended one. */
export interface JudgementStore {
  getMany(keys: readonly string[]): ReadonlyMap<string, Judgement>;
  /** Ends the lease as well. Returns whether the judgement is new. */
  put(row: AnnotationRow): boolean;
  /** Where answers are kept that could not be read; without it they are asked for again. */
  readonly unreadable?: Pick<UnreadableTable, 'find' | 'put' | 'last'>;
  /** Keeps other processes from asking the same at the same time. */
  readonly leases?: Pick<LeaseTable, 'take' | 'release'> | null;
}

interface AskOnceOptions {
  readonly store: JudgementStore;
  /** Keeps the calls of judgements that are not finished. */
  readonly calls?: Pick<CallJournal, 'ofJudgement' | 'ended'>;
  /** Ask once more where earlier answers could not be read. */
  readonly retryUnreadable?: boolean;
  /** Aborting ends the waiting for other processes, and nothing new is asked. */
  readonly signal?: AbortSignal;
  /** Shows that other processes are waited for. */
  readonly waits?: Waits;
}

/**
 * Asks each question once, however many ask for it. In this process they share one promise. Of several processes one
 * holds the lease, and the others wait for its answer. Answers are read from the store. Only a failure that is not kept,
 * such as that of a service, is followed by another attempt of whoever asks next.
 */
export function askOnceIn(options: AskOnceOptions): AskOnce {
  const once = new OnceAsker(options);
  return (question, ask) => once.ask(question, ask);
}

/** Times between two looks at what other processes are asking: longer and longer while no answer comes. */
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 500;

type Kept = Judgement | MalformedAnswerError;

interface WaitingQuestion {
  /** With null, the question is to be asked here. */
  resolve(kept: Kept | null): void;
  reject(error: unknown): void;
}

class OnceAsker {
  private readonly options: AskOnceOptions;
  private readonly signal: AbortSignal;
  /** What could not be read up to here is asked again. */
  private readonly retriedUpTo: number;
  private readonly underWay = new Map<string, Promise<Judgement>>();
  /** What is asked in this turn of the event loop: looked up and leased in one go. */
  private newcomers = new Map<string, WaitingQuestion>();
  /** What other processes are asking. */
  private readonly elsewhere = new Map<string, WaitingQuestion>();

  constructor(options: AskOnceOptions) {
    const { store, calls, signal, retryUnreadable = false } = options;
    this.options = options;
    this.signal = AbortSignal.any([signal, calls?.ended].filter((each) => each !== undefined));
    this.retriedUpTo = retryUnreadable ? (store.unreadable?.last() ?? 0) : 0;
  }

  ask({ threadId, prefixLength, sampleIndex = 0, ...asked }: Question, ask: () => Promise<Judgement>) {
    const request = { ...asked, sampleIndex };
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
    const kept = await new Promise<Kept | null>((resolve, reject) => {
      if (this.newcomers.size === 0) queueMicrotask(() => this.admitNewcomers());
      this.newcomers.set(key, { resolve, reject });
    });
    if (kept instanceof MalformedAnswerError) throw kept;
    if (kept !== null) return kept;
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
      // Where another process was first, both go on with its judgement.
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

  /** Answers those who wait from the store, lets one of all processes ask, and has the others wait. */
  private admit(waiting: ReadonlyMap<string, WaitingQuestion>): void {
    const { store } = this.options;
    let leased: ReadonlySet<string> = new Set();
    try {
      this.signal.throwIfAborted();
      const kept = this.find([...waiting.keys()]);
      const unknown = [...waiting.keys()].filter((key) => !kept.has(key));
      leased = store.leases?.take(unknown) ?? new Set(unknown);
      // What another process stored in between ended its lease.
      if (store.leases) for (const [key, answer] of this.find([...leased])) kept.set(key, answer);
      this.release([...leased].filter((key) => kept.has(key)));
      for (const [key, each] of waiting) {
        const isElsewhere = !kept.has(key) && !leased.has(key);
        if (isElsewhere) this.elsewhere.set(key, each);
        else {
          this.elsewhere.delete(key);
          each.resolve(kept.get(key) ?? null);
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
    const found = new Map<string, Kept>();
    for (const [key, problem] of store.unreadable?.find(keys, { after: this.retriedUpTo }) ?? [])
      found.set(key, new MalformedAnswerError(problem, { answers: [] }));
    for (const [key, judgement] of store.getMany(keys)) found.set(key, judgement);
    return found;
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
      // An abort ends the wait, and the next look rejects those who wait.
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
