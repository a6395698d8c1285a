import type { ProviderError } from '../../src/errors.ts';
import type { Judgement } from '../detector.ts';
import { UnreadableShareError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';

/** Number of answers from which on the share of unreadable ones is meaningful. */
const ANSWERS_FOR_SHARE = 20;

/** Prefixes so far: judged, cached or failed. */
export interface AnnotateProgress {
  readonly done: number;
  readonly total: number;
  /** Prefixes that this run judged. */
  readonly asked: number;
  /** Prefixes whose judgement was in the store. */
  readonly cached: number;
  /** Prefixes without a judgement. The next run queries them again, unless their answers could not be read. */
  readonly failed: number;
  /** Failed prefixes whose answer, now or earlier, could not be read as a judgement. */
  readonly unreadable: number;
  /** Unreadable answers that this run's judgements do without, such as votes of a council. */
  readonly unreadableParts: number;
  /** Causes of a wait of more than 5 s, in words; null without one. */
  readonly waiting: string | null;
}

export interface AnnotationFailure {
  readonly threadId: string;
  readonly prefixLength: number;
  readonly message: string;
  readonly isUnreadable?: boolean;
}

/** Counts and reports the outcomes of a run's prefixes. */
export class AnnotationTally {
  private readonly options: {
    readonly total: number;
    /** The largest share of unreadable answers in this run. */
    readonly maxUnreadable: number;
    readonly onProgress: ((progress: AnnotateProgress) => void) | undefined;
    readonly waits?: Waits;
  };
  private readonly failures: AnnotationFailure[] = [];
  private readonly counts = { done: 0, asked: 0, cached: 0, failed: 0, unreadable: 0, unreadableParts: 0 };
  /** Unreadable answers of this run. */
  private unreadableNow = 0;

  constructor(options: AnnotationTally['options']) {
    this.options = options;
    this.show();
  }

  /** Number of answers until the share of unreadable ones is checked; 0 from then on, and if it is never checked. */
  get answersBeforeShare(): number {
    return this.options.maxUnreadable < 1 ? Math.max(0, ANSWERS_FOR_SHARE - this.answers) : 0;
  }

  /** Answers of this run, readable or not. */
  private get answers(): number {
    return this.counts.asked + this.unreadableNow;
  }

  countAsked({ unreadableParts = 0 }: Pick<Judgement, 'unreadableParts'>): void {
    this.counts.asked++;
    this.counts.unreadableParts += unreadableParts;
    this.settle();
  }

  countCached(): void {
    this.counts.cached++;
    this.settle();
  }

  countFailure(failure: AnnotationFailure): void {
    this.counts.failed++;
    this.failures.push(failure);
    this.settle();
  }

  /**
   * Counts an unreadable answer: of this run, or an earlier one, for another thread, or by another process.
   * @throws UnreadableShareError if most further answers would be paid for and unreadable
   */
  countUnreadable(failure: AnnotationFailure, { isAnsweredNow }: { isAnsweredNow: boolean }): void {
    this.counts.unreadable++;
    this.countFailure({ ...failure, isUnreadable: true });
    if (!isAnsweredNow) return;
    this.unreadableNow++;
    const { answers } = this;
    const { maxUnreadable } = this.options;
    if (answers < ANSWERS_FOR_SHARE || this.unreadableNow <= maxUnreadable * answers) return;
    throw new UnreadableShareError(
      `${this.unreadableNow} of ${answers} answers could not be read, more than the share of ${maxUnreadable} that is ` +
        `allowed; the last one: ${failure.message}. Check the model, its maxTokens and the task, or raise --max-unreadable (of earshot annotate and detect)`,
    );
  }

  show(): void {
    const { total, onProgress, waits } = this.options;
    onProgress?.({ ...this.counts, total, waiting: waits?.inWords() ?? null });
  }

  result(stopped: ProviderError | null) {
    const { done, ...settled } = this.counts;
    return { ...settled, failures: this.failures, stopped, remaining: this.options.total - done };
  }

  private settle(): void {
    this.counts.done++;
    this.show();
  }
}
