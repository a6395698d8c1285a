import type { ProviderError } from '../../src/errors.ts';
import type { Judgement } from '../detector.ts';
import { UnreadableShareError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';

/** Answers after which their unreadable share says something. */
const ANSWERS_FOR_SHARE = 20;

/** Prefixes so far: judged, found in the store, given up. */
export interface AnnotateProgress {
  readonly done: number;
  readonly total: number;
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
  /** What has been waited for since more than 5 s, in words; null where nothing has. */
  readonly waiting: string | null;
}

/** A prefix without a judgement. */
export interface AnnotationFailure {
  readonly threadId: string;
  readonly prefixLength: number;
  readonly message: string;
  readonly isUnreadable?: boolean;
}

/** Counts what becomes of the prefixes of a run, and shows it. */
export class AnnotationTally {
  private readonly options: {
    readonly total: number;
    /** The largest share of the answers of this run that may be unreadable. */
    readonly maxUnreadable: number;
    readonly onProgress: ((progress: AnnotateProgress) => void) | undefined;
    readonly waits?: Waits;
  };
  private readonly failures: AnnotationFailure[] = [];
  private readonly counts = { done: 0, asked: 0, cached: 0, failed: 0, unreadable: 0, unreadableParts: 0 };
  /** Unreadable ones that were answered now. */
  private unreadableNow = 0;

  constructor(options: AnnotationTally['options']) {
    this.options = options;
    this.show();
  }

  /** Before so many answers nobody knows their unreadable share; 0 where nobody minds it. */
  get answersForShare(): number {
    return this.options.maxUnreadable < 1 ? ANSWERS_FOR_SHARE : 0;
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
   * Counts what was answered with something that is no judgement: now, or earlier, for another thread, or by another process.
   * @throws UnreadableShareError where asking on would mostly pay for what nobody can read
   */
  countUnreadable(failure: AnnotationFailure, { isAnsweredNow }: { isAnsweredNow: boolean }): void {
    this.counts.unreadable++;
    this.countFailure({ ...failure, isUnreadable: true });
    if (!isAnsweredNow) return;
    this.unreadableNow++;
    const { maxUnreadable } = this.options;
    const answers = this.counts.asked + this.unreadableNow;
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
