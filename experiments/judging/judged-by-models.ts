import type { AnnotateOptions, AnnotateResult } from '../../experts/annotate.ts';
import type { Detector } from '../../experts/detector.ts';
import type { EndpointUsage } from '../../experts/llm/budget.ts';
import type { DryRunEstimate } from '../../experts/llm/dry-run-chat-service.ts';

/** Judgements under way at once unless told: the endpoints' own limits then decide. */
const CONCURRENCY = 64;

export interface JudgedByModels {
  readonly detector: Detector;
  readonly result: AnnotateResult;
  /** What was sent now, by endpoint and model. */
  readonly usage: readonly EndpointUsage[];
  /** Of a dry run alone. */
  readonly estimates: readonly DryRunEstimate[] | null;
}

type Name = 'schedule' | 'maxPosts' | 'concurrency' | 'onProgress' | 'signal';
type PassedOn = Pick<AnnotateOptions, 'threads'> & { [name in Name]?: AnnotateOptions[name] | undefined };

/** The options of `annotate` that are handed through. */
export function annotateOptions(
  options: PassedOn,
  by: { detector: Detector; store: AnnotateOptions['store'] },
): AnnotateOptions {
  const { threads, schedule, maxPosts, concurrency = CONCURRENCY, onProgress, signal } = options;
  return {
    threads,
    ...by,
    concurrency,
    ...(schedule && { schedule }),
    ...(maxPosts !== undefined && { maxPosts }),
    ...(onProgress && { onProgress }),
    ...(signal && { signal }),
  };
}
