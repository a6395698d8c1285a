import { setImmediate as nextTurn } from 'node:timers/promises';
import { prefixOf } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import type { Detector, Judgement } from '../detector.ts';
import { endsAllCalls, MalformedAnswerError } from '../llm/failures.ts';
import type { AnnotationRow } from './annotation-row.ts';
import type { AnnotationTally } from './annotation-tally.ts';
import type { CallJournal } from './call-journal.ts';
import { checkedJudgement } from './checked-judgement.ts';
import { CommitQueue } from './commit-queue.ts';
import type { PrefixQuestion } from './question-group.ts';
import { type JudgementStore, lastText, SharedJudgements } from './shared-judgements.ts';
import { Slots } from './slots.ts';

export interface JudgementQueueOptions {
  readonly detector: Detector;
  readonly store: JudgementStore & { putMany(rows: readonly AnnotationRow[]): number };
  /** False where asking costs less than leases. */
  readonly leases?: boolean | undefined;
  /** Keeps the calls of judgements that are not finished, where the detector sends its calls through it. */
  readonly calls?: Pick<CallJournal, 'ofJudgement'> | undefined;
  /** Ask again where an earlier answer could not be read. */
  readonly retryUnreadable?: boolean | undefined;
  /** Judgements under way at the same time. */
  readonly concurrency: number;
  readonly tally: AnnotationTally;
  /** Gets each judgement that comes, null where the detector failed in a way that leaves hope for other questions. */
  readonly onSettled: (question: PrefixQuestion, judgement: Judgement | null) => void;
  /** Aborting begins nothing new. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gets judgements, so many at a time, and counts what becomes of them. The first failure that leaves no hope ends the
 * queue: nothing new is begun, and what is under way is awaited, since it is paid for. What other processes are asking is
 * waited for beside all that.
 */
export class JudgementQueue {
  private readonly options: JudgementQueueOptions;
  private readonly judgements: SharedJudgements;
  readonly commits: CommitQueue;
  private readonly slots: Slots;
  private readonly settling = new Set<Promise<void>>();
  private readonly failures: unknown[] = [];
  /** Aborted by the first failure. */
  private readonly failed = new AbortController();
  /** Aborted by that, or by the user. */
  private readonly ended: AbortSignal;
  /** Ends the judgements under way as well, where nothing can be stored any more. */
  private readonly lost = new AbortController();

  constructor(options: JudgementQueueOptions) {
    const { store, concurrency, calls, leases, retryUnreadable, signal } = options;
    this.options = options;
    this.slots = new Slots(concurrency);
    this.ended = signal ? AbortSignal.any([signal, this.failed.signal]) : this.failed.signal;
    this.commits = new CommitQueue({ store, onFailure: (error) => this.end(error) });
    this.judgements = new SharedJudgements({
      store,
      keep: (key, row) => {
        this.commits.add(key, row);
        return row.judgement;
      },
      uncommitted: (key) => this.commits.find(key),
      calls,
      leases,
      retryUnreadable,
      signal: this.ended,
    });
  }

  get isEnding(): boolean {
    return this.ended.aborted;
  }

  /** What is known of these questions without asking. */
  find(keys: readonly string[]): ReturnType<SharedJudgements['find']> {
    return this.judgements.find(keys);
  }

  /** Takes questions in. Returns when more of them would find something to do. */
  async add(questions: readonly PrefixQuestion[]): Promise<void> {
    const { store, leases = true, concurrency } = this.options;
    // Leased as they are needed, so that other processes find something to do.
    const atOnce = leases && store.leases ? concurrency : Math.max(1, questions.length);
    for (let first = 0; first < questions.length && !this.isEnding; first += atOnce) {
      for (const question of questions.slice(first, first + atOnce)) {
        const settling = this.settle(question).catch((error: unknown) => this.fail(error));
        this.settling.add(settling);
        void settling.then(() => this.settling.delete(settling));
      }
      // By then each of them has a slot, waits for one, or waits for another process.
      await nextTurn();
      await this.slots.vacancy();
    }
  }

  /**
   * Returns when all that was taken in is settled.
   * @throws what ended the queue: the user's signal, an unusable endpoint, a defect
   */
  async settled(): Promise<void> {
    while (this.settling.size > 0) await Promise.all(this.settling);
    this.options.signal?.throwIfAborted();
    const { failures } = this;
    if (failures.length > 0) throw failures.find((error) => !endsAllCalls(error)) ?? failures[0];
  }

  /** Begins nothing new because of this. */
  fail(error: unknown): void {
    this.failures.push(error);
    this.failed.abort(error);
  }

  /** Stores what is left, and gives up what could not be stored. */
  close(): void {
    try {
      this.commits.flush();
    } finally {
      this.options.store.leases?.release(this.commits.keys);
    }
  }

  private async settle(question: PrefixQuestion): Promise<void> {
    const { tally, onSettled } = this.options;
    // Only who asks has a slot: not who waits for another process, or for the same question of another thread.
    const slot: { giveBack?: () => void } = {};
    const ask = async () => {
      slot.giveBack = await this.slots.take();
      this.ended.throwIfAborted();
      return this.judge(question);
    };
    try {
      const judgement = await this.judgements.askOnce(question, ask);
      if (slot.giveBack) tally.countAsked(judgement);
      else tally.countCached();
      onSettled(question, judgement);
      await this.commits.commitWhenDue();
    } catch (error) {
      // It was not begun, so it remains.
      if (this.isEnding && error === this.ended.reason) return;
      this.countFailure(question, error, { isAsked: slot.giveBack !== undefined });
      onSettled(question, null);
    } finally {
      slot.giveBack?.();
    }
  }

  private async judge({ thread, prefixLength }: PrefixQuestion): Promise<Judgement> {
    const { detector } = this.options;
    const { signal } = this.lost;
    const prefix = prefixOf(thread, prefixLength);
    const { labels } = detector;
    const told = await detector.judge(prefix, { signal });
    const judgement = checkedJudgement(told, { detector: `the detector ${detector.name}`, labels, prefix });
    if (judgement.label !== null || detector.mayAbstain) return judgement;
    throw new MalformedAnswerError(`the detector read no label in ${quotedStart(lastText(judgement))}`, {
      answers: judgement.transcript.slice(-1).map(({ text }) => ({ text, finishReason: 'unknown' })),
    });
  }

  /** @throws the error where it is not one of this question alone */
  private countFailure(question: PrefixQuestion, error: unknown, { isAsked }: { isAsked: boolean }): void {
    const { tally, signal } = this.options;
    // The user has something to solve, such as a full disk: what is asked from now on would be lost.
    if (error instanceof InputError) this.end(error);
    this.lost.signal.throwIfAborted();
    // A service that failed this once leaves a gap. Anything else is for the user to solve, or a defect.
    if (!(error instanceof ProviderError) || endsAllCalls(error) || signal?.aborted) throw error;
    const { threadId, prefixLength } = question;
    const failure = { threadId, prefixLength, message: error.message };
    if (!(error instanceof MalformedAnswerError)) tally.countFailure(failure);
    else if (isAsked) tally.countUnreadableAnswer(failure);
    else tally.countUnreadable(failure);
  }

  private end(error: unknown): void {
    this.lost.abort(error);
    this.fail(error);
  }
}

/** A text as it stands in messages. */
function quotedStart(text: string | undefined): string {
  return text === undefined ? '(nothing)' : JSON.stringify(text.slice(0, 200));
}
