import type { AnnotateOptions, AnnotateResult } from '../../experts/annotate.ts';
import type { AnnotationRow } from '../../experts/annotations/annotation-row.ts';
import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { AnnotateProgress } from '../../experts/asking/annotation-tally.ts';
import type { Detector } from '../../experts/detector.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import type { DryRunEstimate } from '../../experts/llm/cost/dry-run-chat-service.ts';
import { type EndpointUsage, usageSummary } from '../../experts/llm/cost/usage.ts';
import { counted } from '../../src/counted.ts';
import { ProviderError } from '../../src/errors.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';

export interface BatchMode {
  /** Holds a folder for each detector whose batch has not been collected yet. */
  readonly batchFolder: string;
  readonly pollMs?: number;
}

/**
 * `live` asks, `dry-run` counts the requests and writes nothing, and a batch is submitted and awaited. Free detectors
 * are queried in every mode.
 */
export type JudgingMode = 'live' | 'dry-run' | BatchMode;

export interface JudgeOptions
  extends Readonly<
    Pick<AnnotateOptions, 'threads' | 'schedule' | 'maxPosts' | 'concurrency' | 'retryUnreadable' | 'maxUnreadable'>
  > {
  readonly store: AnnotationStore;
  readonly mode?: JudgingMode;
  /** Limits that replace those of the detector file. */
  readonly budget?: Partial<BudgetLimits>;
  /** Receives each judgement of a free detector, which is not stored. */
  readonly onJudgement?: ((row: AnnotationRow) => void) | undefined;
  /** Receives the counts of prefixes after each judgement. */
  readonly onCounts?: ((counts: AnnotateProgress) => void) | undefined;
  readonly context?: WorkContext;
}

export interface Judged {
  readonly detector: Detector;
  readonly result: AnnotateResult;
  /** Usage of this process, by endpoint and model. */
  readonly usage: readonly EndpointUsage[];
  /** Estimates for a live run; null unless this was a dry run of language models. */
  readonly estimates: readonly DryRunEstimate[] | null;
}

export function annotateOptions(
  options: JudgeOptions,
  by: {
    detector: Detector;
    store: AnnotateOptions['store'];
    concurrency: number;
    usage?: () => readonly EndpointUsage[];
    waits?: AnnotateOptions['waits'];
  },
): AnnotateOptions {
  const { onCounts, context = workContext() } = options;
  const { usage = () => [] } = by;
  return {
    ...options,
    ...by,
    concurrency: options.concurrency ?? by.concurrency,
    onProgress(counts) {
      onCounts?.(counts);
      context.onProgress('judging prefixes', counts.done, counts.total, progressNote(counts, usage()));
    },
    signal: context.signal,
  };
}

/** Counts that are not zero and the cost, for the end of a line of progress. */
function progressNote(
  { failed, unreadable, unreadableParts, waiting }: AnnotateProgress,
  usage: readonly EndpointUsage[],
): string | undefined {
  const counts = { unreadable, failed: failed - unreadable, 'unreadable parts': unreadableParts };
  const notes = waiting === null ? [] : [waiting];
  notes.push(...Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : [])));
  const cost = usage.reduce((sum, row) => sum + row.cost, 0);
  if (cost > 0) notes.push(`cost ${cost.toFixed(4)}`);
  return notes.length === 0 ? undefined : notes.join(', ');
}

/**
 * Continues after judging if the experiment permits it, and notes the missing judgements.
 * @param options.countAs the stand-in for a missing judgement
 * @param options.goOn the setting that permits failures; null if it is set
 * @param options.askAgain the way to ask again for unreadable answers
 * @throws ProviderError if judging stopped early, or failures are not permitted
 */
export function checkJudged(
  { result, usage }: Pick<Judged, 'result' | 'usage'>,
  options: { countAs: string; goOn: string | null; askAgain: string; onNote: WorkContext['onNote'] },
): void {
  const { countAs, goOn, askAgain, onNote } = options;
  const { stopped, remaining, asked, cached, failed, unreadable, unreadableParts, failures } = result;
  if (stopped !== null)
    throw new ProviderError(
      `${stopped.message}\n${usageSummary(usage)}\n` +
        `${remaining} prefixes are not judged yet; what was answered is kept, so the same command goes on from there`,
      { cause: stopped },
    );
  const of = `of ${asked + cached + failed} prefixes`;
  const [first] = failures.filter(({ isUnreadable }) => !isUnreadable);
  const unjudged = failed - unreadable;
  if (unjudged > 0 && goOn !== null)
    throw new ProviderError(
      `${unjudged} ${of} could not be judged (the first: thread ${first.threadId}, ${first.prefixLength} posts: ${first.message}); give the same command again to ask for them once more, or set ${goOn} to count them as ${countAs}`,
    );
  if (unjudged > 0) onNote(`${unjudged} ${of} could not be judged and count as ${countAs}`);
  if (unreadableParts > 0)
    onNote(
      `${counted(unreadableParts, 'answer')} that judgements do without (votes, scores, log-probabilities) could not be read`,
    );
  // Asking again is for the user to decide, since it costs and may not help.
  if (unreadable > 0)
    onNote(
      `answers about ${unreadable} ${of} could not be read and count as ${countAs}; ${askAgain} asks for them again`,
    );
}
