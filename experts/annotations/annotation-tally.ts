import type { ProviderError } from '../../src/errors.ts';
import type { Judgement } from '../detector.ts';
import { UnreadableShareError } from '../llm/failures.ts';

/** Answers after which their unreadable share says something. */
const ANSWERS_FOR_SHARE = 20;

/** Prefixes so far: judged, found in the store, given up. */
export interface AnnotateProgress {
  readonly done: number;
  readonly total: number;
  readonly asked: number;
  readonly cached: number;
  /** Includes the unreadable ones. */
  readonly failed: number;
  readonly unreadable: number;
  /** Answers that could not be read and that judgements of this run do without. */
  readonly unreadableParts: number;
}

/** A prefix without a judgement. */
export interface AnnotationFailure {
  readonly threadId: string;
  readonly prefixLength: number;
  readonly message: string;
  readonly isUnreadable?: boolean | undefined;
}

/** Counts what becomes of the prefixes of a run. */
export class AnnotationTally {
  readonly failures: AnnotationFailure[] = [];
  private readonly total: number;
  private readonly maxUnreadable: number;
  private readonly onProgress: ((progress: AnnotateProgress) => void) | undefined;
  private done = 0;
  private asked = 0;
  private cached = 0;
  private unreadable = 0;
  /** Those of them that were answered now. */
  private unreadableNow = 0;
  private unreadableParts = 0;

  constructor(options: {
    total: number;
    /** The largest share of the answers of this run that may be unreadable. */
    maxUnreadable: number;
    onProgress: ((progress: AnnotateProgress) => void) | undefined;
  }) {
    this.total = options.total;
    this.maxUnreadable = options.maxUnreadable;
    this.onProgress = options.onProgress;
  }

  countAsked({ unreadableParts = 0 }: Pick<Judgement, 'unreadableParts'>): void {
    this.asked++;
    this.unreadableParts += unreadableParts;
  }

  countCached(prefixes = 1): void {
    this.cached += prefixes;
  }

  countFailure(failure: AnnotationFailure): void {
    this.failures.push(failure);
  }

  /** Counts what was answered with something that is no judgement: earlier, for another thread, or by another process. */
  countUnreadable(failure: AnnotationFailure): void {
    this.unreadable++;
    this.failures.push({ ...failure, isUnreadable: true });
  }

  /**
   * Counts what was answered so now.
   * @throws UnreadableShareError where asking on would mostly pay for what nobody can read
   */
  countUnreadableAnswer(failure: AnnotationFailure): void {
    this.countUnreadable(failure);
    this.unreadableNow++;
    const answers = this.asked + this.unreadableNow;
    if (answers < ANSWERS_FOR_SHARE || this.unreadableNow <= this.maxUnreadable * answers) return;
    // It was asked about and answered, so it does not remain.
    this.settle();
    throw new UnreadableShareError(
      `${this.unreadableNow} of ${answers} answers could not be read, more than the share of ${this.maxUnreadable} that is ` +
        `allowed; the last one: ${failure.message}. Check the model, its maxTokens and the task, or raise --max-unreadable (of earshot annotate and detect)`,
    );
  }

  /** So many more prefixes are settled. */
  settle(prefixes = 1): void {
    this.done += prefixes;
    const { done, total, asked, cached, failures, unreadable, unreadableParts } = this;
    this.onProgress?.({ done, total, asked, cached, failed: failures.length, unreadable, unreadableParts });
  }

  result(stopped: ProviderError | null) {
    const { asked, cached, failures, unreadable, unreadableParts, total, done } = this;
    const failed = failures.length;
    return { asked, cached, failed, unreadable, unreadableParts, failures, stopped, remaining: total - done };
  }
}
