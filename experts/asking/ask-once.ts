import { setMaxListeners } from 'node:events';
import { sleep } from '../../src/sleep.ts';
import { type AnnotationRequest, type AnnotationRow, keyOf } from '../annotations/annotation-row.ts';
import type { LeaseTable } from '../annotations/lease-table.ts';
import type { UnreadableTable } from '../annotations/unreadable-table.ts';
import type { Judgement } from '../detector.ts';
import { MalformedAnswerError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import type { CallJournal } from './call-journal.ts';

/** A judgement, or a part that judgements share, identified by the key of its request. */
export interface Question extends Omit<AnnotationRequest, 'sampleIndex'> {
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

export interface AskOnceOptions {
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

/** Time between two looks at another process's question, which grows while no answer comes. */
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 500;

/**
 * Asks each question once. In this process all callers share one promise. Among several processes one holds the lease,
 * and the others wait for its answer in the store. After a failure that is not stored, such as that of a service, the
 * next caller tries again.
 */
export function askOnceIn(options: AskOnceOptions): AskOnce {
  const { store, calls, waits, retryUnreadable = false } = options;
  const { leases } = store;
  const signal = AbortSignal.any([options.signal, calls?.ended].filter((each) => each !== undefined));
  // Every question that waits listens to the signal, so many listeners are no leak.
  setMaxListeners(0, signal);
  /** Unreadable answers up to this number are asked again. */
  const retriedUpTo = retryUnreadable ? (store.unreadable?.last() ?? 0) : 0;
  const underWay = new Map<string, Promise<Judgement>>();

  /** @throws MalformedAnswerError for a stored answer that could not be read */
  function stored(key: string): Judgement | null {
    const judgement = store.getMany([key]).get(key);
    if (judgement !== undefined) return judgement;
    const problem = store.unreadable?.find(key, { after: retriedUpTo }) ?? null;
    if (problem !== null) throw new MalformedAnswerError(problem, { answers: [] });
    return null;
  }

  /** Waits while another process asks. The stored judgement; null if the caller is to ask, who then has the lease. */
  async function storedOrLeased(key: string): Promise<Judgement | null> {
    let over: (() => void) | null = null;
    try {
      for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS)) {
        signal.throwIfAborted();
        const judgement = stored(key);
        if (judgement !== null || !leases || leases.take(key)) return judgement;
        over ??= waits?.begin({ kind: 'process', what: 'what other processes are asking' }) ?? null;
        await sleep(lookMs, signal);
      }
    } finally {
      over?.();
    }
  }

  async function answer({ key, ...place }: Place & { key: string }, ask: () => Promise<Judgement>): Promise<Judgement> {
    const judgement = await storedOrLeased(key);
    if (judgement !== null) return judgement;
    try {
      // Another process may have stored a judgement and ended its lease in between.
      const late = leases ? stored(key) : null;
      if (late === null) return await askedAndStored({ key, ...place }, ask);
      release(key);
      return late;
    } catch (error) {
      release(key);
      throw error;
    }
  }

  async function askedAndStored(
    { key, ...place }: Place & { key: string },
    ask: () => Promise<Judgement>,
  ): Promise<Judgement> {
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

  function release(key: string): void {
    try {
      leases?.release(key);
    } catch {
      // Where that cannot be written, as on a full disk, the lease ends with this process.
    }
  }

  return ({ threadId, prefixLength, ...content }, ask) => {
    const request = { ...content, sampleIndex: 0 };
    const key = keyOf(request);
    const shared = underWay.get(key);
    if (shared !== undefined) return shared;
    const judgement = answer({ key, request, threadId, prefixLength }, ask);
    underWay.set(key, judgement);
    const end = () => underWay.delete(key);
    judgement.then(end, end);
    return judgement;
  };
}

type Place = Pick<AnnotationRow, 'request' | 'threadId' | 'prefixLength'>;

/** The last text before the judgement, for the store and for messages. */
export function lastText({ transcript }: Judgement): string | undefined {
  return transcript.at(-1)?.text;
}
