import { setImmediate as nextTurn } from 'node:timers/promises';
import PQueue from 'p-queue';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { annotationRequest } from '../annotations/annotation-row.ts';
import type { Detector, Judgement } from '../detector.ts';
import { endsAllCalls, MalformedAnswerError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import type { AnnotationTally } from './annotation-tally.ts';
import { type AskOnce, askOnceIn, type JudgementStore } from './ask-once.ts';
import type { CallJournal } from './call-journal.ts';
import { judged } from './checked-judgement.ts';

export interface JudgementQueueOptions {
  readonly detector: Detector;
  readonly store: JudgementStore;
  /** The journal of unfinished judgements' calls, if the detector sends its calls through it. */
  readonly calls?: Pick<CallJournal, 'ofJudgement' | 'ended'>;
  /** Whether to ask again if an earlier answer could not be read. */
  readonly retryUnreadable?: boolean;
  /** Judgements in progress at the same time. */
  readonly concurrency: number;
  readonly tally: AnnotationTally;
  /** The waits of the detector's calls, to which the queue adds other processes. */
  readonly waits?: Waits;
  /** Aborting starts nothing new. */
  readonly signal?: AbortSignal;
}

/**
 * Runs judgements in parallel and counts their outcomes. The first failure that affects other questions ends the queue:
 * nothing new starts, and judgements in progress are awaited, because they are paid for.
 */
export class JudgementQueue {
  private readonly options: JudgementQueueOptions;
  private readonly askOnce: AskOnce;
  /** A task for each judgement in progress. */
  private readonly slots: PQueue;
  /** Answers of this run. */
  private answers = 0;
  private readonly failures: unknown[] = [];
  /** Aborted by the first failure that ends the queue. */
  private readonly failed = new AbortController();
  /** Aborted by a failure that ends the queue, or by the user. */
  private readonly ended: AbortSignal;
  /** Aborts the judgements in progress, too, when nothing can be stored any more. */
  private readonly lost = new AbortController();

  constructor(options: JudgementQueueOptions) {
    const { signal } = options;
    this.options = options;
    this.ended = AbortSignal.any([this.failed.signal, ...(signal ? [signal] : [])]);
    this.slots = new PQueue({ concurrency: this.most });
    this.askOnce = askOnceIn({ ...options, signal: this.ended });
  }

  get isEnding(): boolean {
    return this.ended.aborted;
  }

  /** Returns when another question could start. */
  async vacancy(): Promise<void> {
    // By the next turn each question has a slot, waits for one, or waits for another process.
    await nextTurn();
    const leave = await this.slot();
    leave();
  }

  /**
   * The most judgements in progress. Whether answers are readable is unknown during the tally's first ones, and
   * everything in progress is paid for, so no more than these are started before.
   */
  private get most(): number {
    const { concurrency, tally } = this.options;
    const untried = tally.answersForShare - this.answers;
    return untried > 0 ? Math.min(concurrency, untried) : concurrency;
  }

  /** Waits for a slot. The returned function leaves it. */
  private slot(): Promise<() => void> {
    return new Promise((begin) => void this.slots.add(() => new Promise<void>((leave) => begin(leave))));
  }

  /** Null if the detector failed for this question alone, undefined if it was not queried. */
  async judgement(thread: Thread, prefixLength: number): Promise<Judgement | null | undefined> {
    const { detector, tally } = this.options;
    const prefix = prefixOf(thread, prefixLength);
    const place = { threadId: thread.id, prefixLength };
    // Only a running query has a slot: not one that waits for another process or another thread's same question.
    let hasSlot = false;
    let leave = () => {};
    let isAnswered = false;
    try {
      const judgement = await this.askOnce({ ...annotationRequest({ detector, prefix }), ...place }, async () => {
        leave = await this.slot();
        hasSlot = true;
        this.ended.throwIfAborted();
        return judged(detector, prefix, this.lost.signal);
      });
      isAnswered = hasSlot;
      if (hasSlot) tally.countAsked(judgement);
      else tally.countCached();
      return judgement;
    } catch (error) {
      // The question was not started, so it remains.
      if (this.ended.aborted && error === this.ended.reason) return undefined;
      isAnswered = hasSlot && error instanceof MalformedAnswerError;
      try {
        this.countFailure(error, { place, isAnswered });
        return null;
      } catch (last) {
        this.failures.push(last);
        this.failed.abort(last);
        return undefined;
      }
    } finally {
      // The next question starts only after a failure had the chance to end the queue.
      if (isAnswered) this.answers++;
      this.slots.concurrency = this.most;
      leave();
    }
  }

  /** @throws the reason why the queue ended: the user's signal, an unusable endpoint, a defect */
  throwIfEnded(): void {
    const { failures } = this;
    this.options.signal?.throwIfAborted();
    if (failures.length > 0) throw failures.find((error) => !endsAllCalls(error)) ?? failures[0];
  }

  /** @throws the error, unless it concerns this question alone */
  private countFailure(
    error: unknown,
    { place, isAnswered }: { place: { threadId: string; prefixLength: number }; isAnswered: boolean },
  ): void {
    const { tally, signal } = this.options;
    // The user has to act, for example on a full disk: later answers would be lost.
    if (error instanceof InputError) this.lost.abort(error);
    this.lost.signal.throwIfAborted();
    // A service's failure leaves a gap. Any other error needs the user, or is a defect.
    if (!(error instanceof ProviderError) || endsAllCalls(error) || signal?.aborted) throw error;
    const failure = { ...place, message: error.message };
    if (error instanceof MalformedAnswerError) tally.countUnreadable(failure, { isAnsweredNow: isAnswered });
    else tally.countFailure(failure);
  }
}
