import type { AnnotateResult } from '../../experts/annotate.ts';
import { type AnnotationRow, annotationRequest, keyOf } from '../../experts/annotations/annotation-row.ts';
import type { AnnotationStore, StoredAnnotation } from '../../experts/annotations/annotation-store.ts';
import type { Usage } from '../../experts/detector.ts';
import { addedUsage } from '../../experts/llm/chat.ts';
import type { EndpointUsage } from '../../experts/llm/cost/usage.ts';
import { type PrefixSchedule, scheduledLengths } from '../../experts/prefix-schedule.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import type { Judge } from '../judging/judge.ts';
import { checkJudged, type JudgeOptions } from '../judging/judge-options.ts';
import { type DetectorDecision, detectorName, type Replies } from './decisions.ts';
import type { DetectorsExperiment } from './experiment.ts';

export interface JudgedItems {
  /** One for each thread and each number of replies, in the order of these. */
  readonly decisions: readonly DetectorDecision[];
  readonly result: AnnotateResult;
  /** Requests and tokens of this call. */
  readonly usage: readonly EndpointUsage[];
}

const nothing: Usage = { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

/**
 * Asks the detector of an experiment about labelled threads after each number of replies, except what the store knows.
 * @throws ProviderError where judging stopped before its end, or judgements failed and the experiment does not count them as wrong
 */
export async function judgeItems(
  judge: Judge,
  options: Required<Pick<JudgeOptions, 'threads' | 'store' | 'context'>> & {
    readonly experiment: DetectorsExperiment;
    readonly part: DetectorDecision['part'];
  },
): Promise<JudgedItems> {
  const { experiment, part, threads, store, context } = options;
  const { replies, concurrency, retryUnreadable, maxUnreadable } = experiment;
  const free = new Map<string, AnnotationRow>();
  const placeIn = (threadId: string, posts: number) => JSON.stringify([threadId, posts]);
  const { detector, result, usage } = await judge.judge({
    ...{ threads, store, context, concurrency, retryUnreadable, maxUnreadable },
    // A limit that is not given leaves that of a detector file as it is.
    budget: Object.fromEntries(Object.entries(experiment.budget).filter(([, most]) => most !== null)),
    onJudgement: (row) => free.set(placeIn(row.threadId, row.prefixLength), row),
    schedule: scheduleOf(replies),
    maxPosts: Number.MAX_SAFE_INTEGER,
  });
  checkJudged(
    { result, usage },
    {
      countAs: 'wrong',
      goOn: experiment.failures === 'stop' ? 'failures=wrong' : null,
      askAgain: 'retryUnreadable=true',
      onNote: context.onNote,
    },
  );
  const decisions = replies.flatMap((replyCount) => {
    const places = threads.map((thread) => {
      const [posts] = scheduledLengths({ schedule: scheduleOf([replyCount]), posts: thread.posts.length });
      if (!judge.asksModels) return { posts, key: null };
      return { posts, key: keyOf(annotationRequest({ detector, prefix: prefixOf(thread, posts) })) };
    });
    const rows = rowsOf(
      store,
      places.flatMap(({ key }) => key ?? []),
    );
    return threads.map((thread, index) => {
      const { posts, key } = places[index];
      const row = key === null ? free.get(placeIn(thread.id, posts)) : rows.get(key);
      return decisionOf(judge, { thread, part, replies: replyCount, posts, key, row });
    });
  });
  return { decisions, result, usage };
}

/** Rows read at once: each holds a whole conversation. */
const rowsAtOnce = 500;

function rowsOf(store: AnnotationStore, keys: readonly string[]): Map<string, StoredAnnotation> {
  const annotations = new Map<string, StoredAnnotation>();
  for (let start = 0; start < keys.length; start += rowsAtOnce)
    for (const [key, row] of store.getRows(keys.slice(start, start + rowsAtOnce))) annotations.set(key, row);
  return annotations;
}

function scheduleOf(replies: readonly Replies[]): PrefixSchedule {
  return {
    name: 'lengths',
    lengths: replies.map((replyCount) => (replyCount === 'all' ? Number.MAX_SAFE_INTEGER : replyCount + 1)),
  };
}

function decisionOf(
  { task }: Judge,
  of: Pick<DetectorDecision, 'part'> & {
    thread: Thread;
    replies: Replies;
    posts: number;
    key: string | null;
    row: AnnotationRow | undefined;
  },
): DetectorDecision {
  const { thread, part, replies, posts, key, row } = of;
  const {
    usage = nothing,
    partsUsage = nothing,
    label = null,
    probabilities = null,
    explanation = '',
  } = row?.judgement ?? {};
  const taken = addedUsage(usage, partsUsage);
  const { latencyMs = null } = row ?? {};
  return {
    system: detectorName,
    item: thread.id,
    event: thread.event,
    part,
    place: { replies },
    gold: task.goldLabel(thread) ?? '',
    prediction: label,
    probabilities,
    numbers: {
      posts,
      abstained: row !== undefined && label === null ? 1 : 0,
      calls: taken.requests,
      inputTokens: taken.inputTokens,
      outputTokens: taken.outputTokens,
      cost: taken.requests === 0 ? 0 : (taken.cost ?? null),
      seconds: latencyMs === null ? null : latencyMs / 1000,
    },
    texts: { explanation, key },
  };
}
