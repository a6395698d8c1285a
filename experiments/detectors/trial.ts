import { join } from 'node:path';
import { type AnnotationRow, annotationRequest, keyOf } from '../../experts/annotations/annotation-row.ts';
import { AnnotationStore, type StoredAnnotation } from '../../experts/annotations/annotation-store.ts';
import type { Usage } from '../../experts/detector.ts';
import { addedUsage } from '../../experts/llm/chat.ts';
import { type PrefixSchedule, scheduledLengths } from '../../experts/prefix-schedule.ts';
import { type JudgingTask, judgingTaskOf, loadJudgingTask } from '../../experts/tasks/task-file.ts';
import { taskOfLabel } from '../../src/data/task.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { cachedDetector, openDetectorCache } from '../judging/cached-detector.ts';
import { labelledThreads } from '../judging/drawn-threads.ts';
import { type ScoredTask, scoredTask } from '../judging/gold-labels.ts';
import { type Judge, judgeBy, judgeByModels, openJudgeOf } from '../judging/judge.ts';
import { checkJudged } from '../judging/judge-options.ts';
import { type EvaluationSplit, writeDecisions } from '../run/decisions-file.ts';
import { writeParts } from '../run/parts-file.ts';
import { type DetectorDecision, detectorName, type Replies } from './decisions.ts';
import type { DetectorsExperiment } from './experiment.ts';
import { type ItemParts, readItems, splitItems } from './items.ts';
import { detectorsResult } from './result.ts';

/** One experiment with one seed, and where its run goes. */
interface DetectorTrial {
  readonly experiment: DetectorsExperiment;
  readonly seed: number;
  readonly directory: string;
  /** Folder of all runs, with their cache. */
  readonly runs: string;
  readonly context: WorkContext;
}

/**
 * One run: judges its items and writes what the detector said of each. A finished run is left as it is; one that was cut off
 * finds what was answered in the annotation store.
 * @throws InputError when the directory holds a run of another config, seed or data, or the threads cannot fill the parts
 * @throws ProviderError when judgements failed, a budget or an endpoint ended; what was answered is kept
 */
export async function runDetectorTrial(trial: DetectorTrial): Promise<void> {
  const { experiment, seed, directory, runs, context } = trial;
  const task = scoredTask(await judgingTask(experiment));
  const { threads, hash } = await readItems(experiment, context);
  const parts = splitItems(labelledThreads(threads, { task, context }), { experiment, seed, task });
  const run = detectorsResult.unfinished(directory, { config: experiment, facts: { seed, hashes: { data: hash } } });
  if (run === null) return;
  writeParts(run, parts);
  const store = AnnotationStore.open(experiment.annotations ?? join(runs, 'cache', 'annotations.sqlite'));
  try {
    const judge = await judgeOf(trial, { task, parts });
    const judged: Awaited<ReturnType<typeof judgeItems>>[] = [];
    const names = judgedParts(experiment);
    for (const part of names) {
      const items = await judgeItems(judge, { experiment, part, threads: parts[part], store, context });
      writeDecisions(run.path, items.decisions, part);
      judged.push(items);
    }
    const sum = (name: 'asked' | 'cached' | 'failed' | 'unreadable') =>
      judged.reduce((total, { result }) => total + result[name], 0);
    detectorsResult.write(run, {
      seed,
      task: task.name,
      labels: [...task.labels],
      categories: task.categories === null ? null : [...task.categories],
      parts: names,
      threads: Object.fromEntries(Object.entries(parts).map(([part, { length }]) => [part, length])),
      asked: sum('asked'),
      cached: sum('cached'),
      failed: sum('failed'),
      unreadable: sum('unreadable'),
      spent: judged.flatMap(({ usage }) =>
        usage.map(({ endpoint, model, requests, cost }) => ({ endpoint, model, requests, cost })),
      ),
    });
  } finally {
    store.close();
  }
}

function judgedParts({ evaluation, split }: DetectorsExperiment): EvaluationSplit[] {
  if (evaluation.part === 'development') return ['development'];
  return split.development === 0 ? ['test'] : ['development', 'test'];
}

/** The detector of an experiment, ready to judge; a local one is trained, unless it lies in the cache of the runs. */
async function judgeOf(
  { experiment, seed, runs, context }: DetectorTrial,
  { task, parts }: { task: ScoredTask; parts: Pick<ItemParts, 'train'> },
): Promise<Judge> {
  const { name, detector, endpoints, budget, retry, maxOutputTokens } = experiment;
  if (detector.name === 'local') {
    const { name: _, ...options } = detector;
    const { selectBackend } = await import('../../src/tensor/backend.ts');
    await selectBackend('auto');
    const cache = openDetectorCache(join(runs, 'cache'));
    const settings = { options, task: taskOfLabel(task), seed, cache, context };
    return judgeBy(await cachedDetector(settings, parts.train), { name: 'local', task });
  }
  if (detector.name !== 'file')
    return judgeByModels({
      detector:
        'endpoints' in detector ? { ...detector, endpoints: { ...endpoints, ...detector.endpoints } } : detector,
      task: await judgingTask(experiment),
      budget,
      retry,
      maxOutputTokens,
      prices: {},
      // One budget for all detectors of the experiment.
      name,
      path: name,
    });
  return openJudgeOf(detector.file, task);
}

function judgingTask({ task }: DetectorsExperiment): Promise<JudgingTask> | JudgingTask {
  return typeof task === 'string' ? loadJudgingTask(task) : judgingTaskOf({ name: task.label, labels: task.classes });
}

const nothing: Usage = { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

/**
 * Asks the detector of an experiment about labelled threads after each number of replies, except what the store knows.
 * @returns decisions: one for each thread and each number of replies, in the order of these; usage: requests and tokens of this call
 * @throws ProviderError where judging stopped before its end, or judgements failed and the experiment does not count them as wrong
 */
async function judgeItems(
  judge: Judge,
  options: Pick<DetectorTrial, 'experiment' | 'context'> & {
    part: EvaluationSplit;
    threads: readonly Thread[];
    store: AnnotationStore;
  },
) {
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
