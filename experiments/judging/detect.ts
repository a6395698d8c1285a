import { type AnnotateResult, annotationRequest } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Usage } from '../../experts/detector.ts';
import { addedUsage } from '../../experts/detectors/session.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import type { EndpointUsage } from '../../experts/llm/cost/usage.ts';
import { type PrefixSchedule, scheduledLengths } from '../../experts/prefix-schedule.ts';
import { categoriesOf } from '../../experts/tasks/task-file.ts';
import { splitThreads } from '../../src/data/split.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { classificationScores } from '../../src/metrics/classification.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { earlyDetectionReplies, type Replies } from './early-detection.ts';
import type { ScoredTask } from './gold-labels.ts';
import { type Judge, openJudge } from './judge.ts';
import { progressNote } from './judge-options.ts';

export interface LabelScores {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly support: number;
}

export interface DetectionScores {
  readonly items: number;
  /** Answers that could not be read and judgements that failed. Both count as wrong. */
  readonly unreadable: number;
  /** For a task of categories: the share of items that have every category right. */
  readonly accuracy: number;
  /** Mean F1 of the labels, or of the categories' presence. */
  readonly macroF1: number;
  readonly byLabel: Readonly<Record<string, LabelScores>>;
}

export interface Detection {
  readonly gold: string;
  /** Null where nothing could be read. */
  readonly predicted: string | null;
}

/** Scores of a detector at one point of the threads. */
export function scoreDetections(task: ScoredTask, detections: readonly Detection[]): DetectionScores {
  const { labels, categories } = task;
  const whole = classificationScores({
    gold: detections.map(({ gold }) => labels.indexOf(gold)),
    predicted: detections.map(({ predicted }) => (predicted === null ? -1 : labels.indexOf(predicted))),
    classes: labels.length,
  });
  const shared = { items: whole.items, unreadable: whole.unparsed, accuracy: whole.accuracy };
  if (categories === null)
    return {
      ...shared,
      macroF1: whole.macroF1,
      byLabel: Object.fromEntries(labels.map((label, index) => [label, whole.perClass[index]])),
    };
  const byCategory = categories.map((category) => {
    const has = (label: string) => Number(categoriesOf(label).includes(category));
    const { perClass } = classificationScores({
      gold: detections.map(({ gold }) => has(gold)),
      predicted: detections.map(({ predicted }) => (predicted === null ? -1 : has(predicted))),
      classes: 2,
    });
    return [category, perClass[1]] as const;
  });
  return {
    ...shared,
    macroF1: byCategory.reduce((sum, [, { f1 }]) => sum + f1, 0) / byCategory.length,
    byLabel: Object.fromEntries(byCategory),
  };
}

/** What one judgement took, mean over items, no matter when it was made. */
export interface CostPerItem {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Null where the detector's models have different prices. */
  readonly cost: number | null;
}

export interface DetectorEvaluation {
  readonly detector: string;
  readonly task: string;
  readonly at: readonly (DetectionScores & { readonly replies: Replies; readonly perItem: CostPerItem })[];
  readonly asked: number;
  readonly cached: number;
  readonly failed: number;
  /** Those of them that were answered with something that is no judgement. */
  readonly unreadable: number;
  readonly failures: AnnotateResult['failures'];
  /** What was sent now. */
  readonly usage: readonly EndpointUsage[];
}

export interface DetectOptions {
  threads: readonly Thread[];
  /** So many of the labelled threads, drawn with each label in proportion: the first of a file are often of one class. */
  limit?: number | undefined;
  /** Draws them. */
  seed?: number | undefined;
  /** Detector files and saved detectors. */
  detectors: readonly string[];
  /** Keeps the judgements; without one they are forgotten. */
  store?: string | undefined;
  replies?: readonly Replies[] | undefined;
  budget?: Partial<BudgetLimits> | undefined;
  concurrency?: number | undefined;
  retryUnreadable?: boolean | undefined;
  maxUnreadable?: number | undefined;
  context?: WorkContext | undefined;
}

/** Judges labelled threads with each detector at each number of replies and scores the answers. */
export async function detect(options: DetectOptions): Promise<DetectorEvaluation[]> {
  const { detectors, context = workContext() } = options;
  const judges = await Promise.all(detectors.map(openJudge));
  const [{ task }] = judges;
  const other = judges.findIndex((judge) => judge.task.labels.join('\n') !== task.labels.join('\n'));
  if (other >= 0)
    throw new InputError(
      `${detectors[0]} decides ${task.name} and ${detectors[other]} decides ${judges[other].task.name}; compare detectors of one task`,
    );
  const known = options.threads.filter((thread) => task.goldLabel(thread) !== null);
  if (known.length === 0)
    throw new InputError(
      `none of the ${options.threads.length} threads has a label for ${task.name}; give labelled threads, or another task`,
    );
  const without = options.threads.length - known.length;
  if (without > 0) context.onNote(`${without} threads have no label for ${task.name} and are left out`);
  const labelled = drawnThreads(known, { ...options, labelOf: task.goldLabel });
  const store = AnnotationStore.open(options.store ?? ':memory:');
  try {
    const evaluations: DetectorEvaluation[] = [];
    // One at a time, so that each has the endpoints to itself.
    for (const judge of judges)
      evaluations.push(await evaluateDetector(judge, { ...options, threads: labelled, context, store }));
    return evaluations;
  } finally {
    store.close();
  }
}

/** So many of labelled threads, each label in proportion; all of them unless there is a limit. */
export function drawnThreads(
  threads: readonly Thread[],
  of: {
    limit?: number | undefined;
    seed?: number | undefined;
    labelOf: (thread: Thread) => string | number | null;
  },
): Thread[] {
  const { limit = threads.length, seed = 1, labelOf } = of;
  const parts = { drawn: Math.min(limit, threads.length) };
  return splitThreads(threads, { parts, seed, stratifyBy: labelOf }).drawn;
}

const nothing: Usage = { requests: 0, inputTokens: 0, outputTokens: 0 };

async function evaluateDetector(
  judge: Judge,
  options: Omit<DetectOptions, 'store'> & { store: AnnotationStore; context: WorkContext },
): Promise<DetectorEvaluation> {
  const { threads, replies = earlyDetectionReplies, store, budget, concurrency, context } = options;
  const { retryUnreadable, maxUnreadable } = options;
  const { name, task, costOf } = judge;
  const lengthAt = (seen: Replies) => (seen === 'all' ? Number.MAX_SAFE_INTEGER : seen + 1);
  const schedule: PrefixSchedule = { name: 'lengths', lengths: replies.map(lengthAt) };
  const { detector, result, usage } = await judge.judge({
    threads,
    store,
    schedule,
    maxPosts: Number.MAX_SAFE_INTEGER,
    budget,
    concurrency,
    retryUnreadable,
    maxUnreadable,
    // Nobody reads a store in memory again: keeping shared parts in it would only hide what a judgement took.
    keepsParts: store.path !== ':memory:',
    onCounts: (counts, sent) =>
      context.onProgress(`${name} judges prefixes`, counts.done, counts.total, progressNote(counts, sent)),
    context,
  });
  const { asked, cached, failed, unreadable, failures, stopped, remaining } = result;
  // Scores of the few prefixes that were judged would say nothing about the detector.
  if (stopped !== null)
    throw new ProviderError(
      `${stopped.message} (${name}: ${remaining} prefixes remain, nothing was scored; ` +
        `${store.path === ':memory:' ? 'without --store no answer is kept' : 'what was answered is kept'})`,
    );
  const keyOf = (thread: Thread, length: number) => {
    return store.keyOf(annotationRequest({ detector, prefix: prefixOf(thread, length) }));
  };
  const at = replies.map((seen) => {
    const keys = threads.map((thread) => {
      const [length] = scheduledLengths({
        schedule: { name: 'lengths', lengths: [lengthAt(seen)] },
        posts: thread.posts.length,
      });
      return keyOf(thread, length);
    });
    const judgements = store.getMany(keys);
    const detections = threads.map((thread, index) => ({
      gold: task.goldLabel(thread) ?? '',
      predicted: judgements.get(keys[index])?.label ?? null,
    }));
    const taken = keys.flatMap((key) => {
      const judgement = judgements.get(key);
      return judgement === undefined ? [] : [judgement.usage, judgement.partsUsage ?? nothing];
    });
    const mean = scaled(taken.reduce(addedUsage, nothing), 1 / threads.length);
    return {
      replies: seen,
      ...scoreDetections(task, detections),
      perItem: {
        calls: mean.requests,
        inputTokens: mean.inputTokens,
        outputTokens: mean.outputTokens,
        cost: costOf === null ? null : costOf(mean),
      },
    };
  });
  return { detector: name, task: task.name, at, asked, cached, failed, unreadable, failures, usage };
}

function scaled({ requests, inputTokens, outputTokens }: Usage, by: number): Usage {
  return { requests: requests * by, inputTokens: inputTokens * by, outputTokens: outputTokens * by };
}
