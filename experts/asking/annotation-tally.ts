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
  readonly isUnreadable?: boolean | undefined;
}

/** Counts what becomes of the prefixes of a run. */
export function annotationTally(options: {
  total: number;
  /** The largest share of the answers of this run that may be unreadable. */
  maxUnreadable: number;
  onProgress: ((progress: AnnotateProgress) => void) | undefined;
  waits: Waits | undefined;
}) {
  const { total, maxUnreadable, onProgress, waits } = options;
  const failures: AnnotationFailure[] = [];
  const counts = { done: 0, asked: 0, cached: 0, failed: 0, unreadable: 0, unreadableParts: 0 };
  /** Unreadable ones that were answered now. */
  let unreadableNow = 0;

  function countAsked({ unreadableParts = 0 }: Pick<Judgement, 'unreadableParts'>): void {
    counts.asked++;
    counts.unreadableParts += unreadableParts;
  }

  function countCached(prefixes = 1): void {
    counts.cached += prefixes;
  }

  function countFailure(failure: AnnotationFailure): void {
    counts.failed++;
    failures.push(failure);
  }

  /** Counts what was answered with something that is no judgement: earlier, for another thread, or by another process. */
  function countUnreadable(failure: AnnotationFailure): void {
    counts.unreadable++;
    countFailure({ ...failure, isUnreadable: true });
  }

  /**
   * Counts what was answered so now.
   * @throws UnreadableShareError where asking on would mostly pay for what nobody can read
   */
  function countUnreadableAnswer(failure: AnnotationFailure): void {
    countUnreadable(failure);
    unreadableNow++;
    const answers = counts.asked + unreadableNow;
    if (answers < ANSWERS_FOR_SHARE || unreadableNow <= maxUnreadable * answers) return;
    // It was asked about and answered, so it does not remain.
    settle();
    throw new UnreadableShareError(
      `${unreadableNow} of ${answers} answers could not be read, more than the share of ${maxUnreadable} that is ` +
        `allowed; the last one: ${failure.message}. Check the model, its maxTokens and the task, or raise --max-unreadable (of earshot annotate and detect)`,
    );
  }

  /** So many more prefixes are settled. */
  function settle(prefixes = 1): void {
    counts.done += prefixes;
    onProgress?.({ ...counts, total, waiting: waits?.inWords() ?? null });
  }

  function result(stopped: ProviderError | null) {
    const { done, ...settled } = counts;
    return { ...settled, failures, stopped, remaining: total - done };
  }

  /** Before so many answers nobody knows their unreadable share; 0 where nobody minds it. */
  const answersForShare = maxUnreadable < 1 ? ANSWERS_FOR_SHARE : 0;
  return {
    answersForShare,
    countAsked,
    countCached,
    countFailure,
    countUnreadable,
    countUnreadableAnswer,
    settle,
    result,
  };
}

export type AnnotationTally = ReturnType<typeof annotationTally>;
