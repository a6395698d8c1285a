import { setImmediate as nextTurn } from 'node:timers/promises';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import type { Detector, Judgement } from '../detector.ts';
import { endsAllCalls, MalformedAnswerError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import { annotationRequest } from './annotation-request.ts';
import type { AnnotationTally } from './annotation-tally.ts';
import { type AskOnce, askOnceIn, type JudgementStore } from './ask-once.ts';
import type { CallJournal } from './call-journal.ts';
import { judged } from './checked-judgement.ts';

export interface JudgementQueueOptions {
  readonly detector: Detector;
  readonly store: JudgementStore;
  /** Keeps the calls of judgements that are not finished, where the detector sends its calls through it. */
  readonly calls?: Pick<CallJournal, 'ofJudgement' | 'ended'>;
  /** Ask again where an earlier answer could not be read. */
  readonly retryUnreadable?: boolean;
  /** Which of several answers to the same question is asked for. */
  readonly sampleIndex?: number;
  /** Judgements under way at the same time. */
  readonly concurrency: number;
  readonly tally: AnnotationTally;
  /** What the detector's calls wait for; other processes that are waited for come to it. */
  readonly waits?: Waits;
  /** Aborting begins nothing new. */
  readonly signal?: AbortSignal;
}

/**
 * Gets judgements, so many at a time, and counts what becomes of them. The first failure that leaves no hope ends the
 * queue: nothing new is begun, and what is under way is awaited, since it is paid for.
 */
export class JudgementQueue {
  private readonly options: JudgementQueueOptions;
  private readonly askOnce: AskOnce;
  private readonly slots: Slots;
  private readonly failures: unknown[] = [];
  /** Aborted by the first failure. */
  private readonly failed = new AbortController();
  /** Aborted by that, or by the user. */
  private readonly ended: AbortSignal;
  /** Ends the judgements under way as well, where nothing can be stored any more. */
  private readonly lost = new AbortController();

  constructor(options: JudgementQueueOptions) {
    const { concurrency: count, tally, signal } = options;
    this.options = options;
    this.ended = AbortSignal.any([this.failed.signal, ...(signal ? [signal] : [])]);
    this.slots = new Slots({ count, trial: tally.answersForShare });
    this.askOnce = askOnceIn({ ...options, signal: this.ended });
  }

  get isEnding(): boolean {
    return this.ended.aborted;
  }

  /** Returns when another question would find something to do. */
  async vacancy(): Promise<void> {
    // By the next turn each question has a slot, waits for one, or waits for another process.
    await nextTurn();
    await this.slots.take();
    this.slots.giveBack({ isAnswered: false });
  }

  /** Null where the detector failed in a way that leaves hope for other questions, undefined where it was not asked. */
  async judgement(thread: Thread, prefixLength: number): Promise<Judgement | null | undefined> {
    const { detector, sampleIndex, tally } = this.options;
    const prefix = prefixOf(thread, prefixLength);
    const place = { threadId: thread.id, prefixLength };
    // Only who asks has a slot: not who waits for another process, or for the same question of another thread.
    let hasSlot = false;
    let isAnswered = false;
    try {
      const judgement = await this.askOnce(
        { ...annotationRequest({ detector, prefix, sampleIndex }), ...place },
        async () => {
          await this.slots.take();
          hasSlot = true;
          this.ended.throwIfAborted();
          return judged(detector, prefix, this.lost.signal);
        },
      );
      isAnswered = hasSlot;
      if (hasSlot) tally.countAsked(judgement);
      else tally.countCached();
      return judgement;
    } catch (error) {
      // It was not begun, so it remains.
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
      // Others begin only after a failure that ends the queue has ended it.
      if (hasSlot) this.slots.giveBack({ isAnswered });
    }
  }

  /** @throws what ended the queue: the user's signal, an unusable endpoint, a defect */
  throwIfEnded(): void {
    const { failures } = this;
    this.options.signal?.throwIfAborted();
    if (failures.length > 0) throw failures.find((error) => !endsAllCalls(error)) ?? failures[0];
  }

  /** @throws the error where it is not one of this question alone */
  private countFailure(
    error: unknown,
    { place, isAnswered }: { place: { threadId: string; prefixLength: number }; isAnswered: boolean },
  ): void {
    const { tally, signal } = this.options;
    // The user has something to solve, such as a full disk: what is asked from now on would be lost.
    if (error instanceof InputError) this.lost.abort(error);
    this.lost.signal.throwIfAborted();
    // A service that failed this once leaves a gap. Anything else is for the user to solve, or a defect.
    if (!(error instanceof ProviderError) || endsAllCalls(error) || signal?.aborted) throw error;
    const failure = { ...place, message: error.message };
    if (error instanceof MalformedAnswerError) tally.countUnreadable(failure, { isAnsweredNow: isAnswered });
    else tally.countFailure(failure);
  }
}

/**
 * So many works at a time; others wait for their turn. Until the first `trial` are answered no more than that are begun:
 * before, nobody knows whether the answers can be read, and whatever is under way is paid for.
 */
class Slots {
  private readonly count: number;
  private readonly trial: number;
  private underWay = 0;
  private answered = 0;
  private waiting: (() => void)[] = [];

  constructor({ count, trial }: { count: number; trial: number }) {
    this.count = count;
    this.trial = trial;
  }

  async take(): Promise<void> {
    while (this.underWay >= this.most()) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.underWay++;
  }

  /** One without an answer leaves its place in the trial to another. */
  giveBack({ isAnswered }: { isAnswered: boolean }): void {
    this.underWay--;
    if (isAnswered) this.answered++;
    const woken = this.waiting;
    this.waiting = [];
    for (const wake of woken) wake();
  }

  private most(): number {
    const untried = this.trial - this.answered;
    return untried > 0 ? Math.min(this.count, untried) : this.count;
  }
}
