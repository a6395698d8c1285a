import { performance } from 'node:perf_hooks';
import type { Judgement } from '../detector.ts';
import { MalformedAnswerError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import type { AnnotationRequest, AnnotationRow } from './annotation-row.ts';
import { type Known, onceAsker } from './ask-once.ts';
import type { CallJournal } from './call-journal.ts';
import type { LeaseTable } from './lease-table.ts';
import type { UnreadableTable } from './unreadable-table.ts';

/** What is asked once, under the key of its request. */
export interface Question {
  readonly key: string;
  readonly request: AnnotationRequest;
  /** Where it was asked first; for people, not part of the key. */
  readonly threadId: string;
  readonly prefixLength: number;
}

/** What of the annotation store judgements need; a dry run has a pretended one. */
export interface JudgementStore {
  keyOf(request: AnnotationRequest): string;
  getMany(keys: readonly string[]): ReadonlyMap<string, Judgement>;
  /** Where answers are kept that could not be read; without it they are asked for again. */
  readonly unreadable?: Pick<UnreadableTable, 'find' | 'put' | 'last'> | undefined;
  /** Keeps other processes from asking the same at the same time. */
  readonly leases?: Pick<LeaseTable, 'take' | 'release'> | null | undefined;
}

/** Judgements, and parts of judgements, each asked for once by all processes that share a store. */
export function sharedJudgements(options: {
  store: JudgementStore;
  /** Keeps a judgement. Returns the one that all go on with, which is another where another process was first. */
  keep: (key: string, row: AnnotationRow) => Judgement;
  /** What is kept, but not in the store yet. */
  uncommitted?: ((key: string) => Judgement | undefined) | undefined;
  /** Keeps the calls of judgements that are not finished. */
  calls: Pick<CallJournal, 'ofJudgement'> | undefined;
  /** False where asking costs less than leases. */
  leases?: boolean | undefined;
  /** Ask once more where earlier answers could not be read. */
  retryUnreadable?: boolean | undefined;
  /** Aborting ends the waiting for other processes, and nothing new is asked. */
  signal: AbortSignal;
  /** Told while other processes are waited for. */
  waits?: Waits | undefined;
}) {
  const { store, keep, uncommitted, calls, leases = true, retryUnreadable = false, signal, waits } = options;
  /** What could not be read up to here is asked again. */
  const retriedUpTo = retryUnreadable ? (store.unreadable?.last() ?? 0) : 0;
  const once = onceAsker({ find, leases: (leases && store.leases) || null, signal, waits });

  /** What was answered to these questions, readable or not. */
  function find(keys: readonly string[]): Map<string, Known<Judgement>> {
    const found = new Map<string, Known<Judgement>>();
    for (const [key, problem] of store.unreadable?.find(keys, { after: retriedUpTo }) ?? [])
      found.set(key, { failure: new MalformedAnswerError(problem, { answers: [] }) });
    for (const [key, answer] of store.getMany(keys)) found.set(key, { answer });
    for (const key of keys) {
      const answer = uncommitted?.(key);
      if (answer !== undefined) found.set(key, { answer });
    }
    return found;
  }

  /**
   * The judgement that is kept for this question; asks when there is none.
   * @throws MalformedAnswerError where the answer cannot be read, now or when it was given; other failures are not kept
   */
  function askOnce(question: Question, ask: () => Promise<Judgement>): Promise<Judgement> {
    return once(question.key, () => askAndKeep(question, ask));
  }

  async function askAndKeep({ key, request, ...place }: Question, ask: () => Promise<Judgement>): Promise<Judgement> {
    const started = performance.now();
    try {
      const judgement = await (calls ? calls.ofJudgement(key, ask) : ask());
      const latencyMs = performance.now() - started;
      return keep(key, { request, judgement, rawResponse: lastText(judgement) ?? null, latencyMs, ...place });
    } catch (error) {
      if (error instanceof MalformedAnswerError) {
        const { message: problem, answers } = error;
        store.unreadable?.put({ key, detector: request.detector, ...place, problem, answers });
      }
      throw error;
    }
  }

  return { find, askOnce };
}

export type SharedJudgements = ReturnType<typeof sharedJudgements>;

/** The last thing that was said before the judgement, for the store and for messages. */
export function lastText({ transcript }: Judgement): string | undefined {
  return transcript.at(-1)?.text;
}
