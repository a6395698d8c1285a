import { join } from 'node:path';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { annotationRequest } from '../../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { scheduledLengths } from '../../../experts/prefix-schedule.ts';
import { prefixOf, type Thread } from '../../../src/data/thread.ts';
import type { ThreadSource } from '../../../src/data/thread-source.ts';
import { PromiseCache } from '../../../src/promise-cache.ts';
import { workContext } from '../../../src/work-context.ts';
import { readable, type VariantResults } from '../../report/kind-report.ts';
import type { Debate } from '../../report/page/page-data.ts';
import { debateOf } from '../../report/transcript-rounds.ts';
import { readParts } from '../../run/parts-file.ts';
import { readJudged, readStopProbabilities } from '../decided-files.ts';
import { agentName, type Decision, type SystemDecisions, type TestThread } from '../decisions.ts';
import { type Experiment, taskOf } from '../experiment.ts';
import { recallByFile } from '../judge-for-training.ts';
import { loadItems, openData } from '../parts.ts';
import type { TrialResult } from '../result.ts';

/** A decision with the event of its thread. */
export interface PlacedDecision extends Decision {
  readonly event: string | null;
}

/** A finished run with all that the page shows of it. */
export interface ReadRun {
  readonly variant: string;
  readonly result: TrialResult;
  readonly judged: readonly TestThread[];
  /** By id; only threads that are what they were when the run read them. */
  readonly threads: ReadonlyMap<string, Thread>;
  /** Scores of the agent by thread; null where the run did not keep them. */
  readonly stopProbabilities: ReadonlyMap<string, readonly number[]> | null;
  /** Why some or all are missing; null if none is. */
  readonly problem: string | null;
  readonly agent: SystemDecisions;
}

export async function readRuns(variants: readonly VariantResults<TrialResult>[]): Promise<ReadRun[]> {
  const read = threadReader();
  const runs: ReadRun[] = [];
  for (const { variant, trials } of variants)
    for (const result of trials) {
      const run = RunDirectory.open(result.directory);
      const { threads, problem } = await read(run, result.experiment);
      const { part } = result.experiment.evaluation;
      const judged = readJudged(run.path, part);
      const stopProbabilities = readStopProbabilities(run.path, part);
      const agent = result.decisions.find((system) => system.name === agentName)!;
      runs.push({ variant, result, judged, threads, stopProbabilities, problem, agent });
    }
  return runs;
}

/** Decisions of a run's agent, with the events of the threads. */
export function placedDecisions({ agent, threads }: ReadRun): PlacedDecision[] {
  return agent.decisions.map((decision) => ({ ...decision, event: threads.get(decision.threadId)?.event ?? null }));
}

/** Reads the decided threads of runs, each data set once for all runs that share it. */
function threadReader(): (run: RunDirectory, experiment: Experiment) => Promise<Pick<ReadRun, 'threads' | 'problem'>> {
  const opened = new PromiseCache<Awaited<ReturnType<typeof readable<ThreadSource>>>>();
  return async (run, experiment) => {
    const source = experiment.data.threads ?? 'the synthetic stream';
    const key = JSON.stringify([experiment.data, experiment.agent.maxPosts]);
    const items = readParts(run)[experiment.evaluation.part] ?? [];
    const { value: all, problem } = await opened.get(key, () => readable(() => openData(experiment, () => {})));
    if (all === null) return { threads: new Map(), problem: `${source} cannot be read: ${problem}` };
    const { present, missing } = await loadItems(items, all);
    return {
      threads: new Map(present.map((thread) => [thread.id, thread])),
      problem:
        missing.length === 0
          ? null
          : `${missing.length} of ${items.length} threads of ${source} are missing or were changed since the run read them`,
    };
  };
}

/**
 * Debates of language models before the judgements at an agent's stops, by thread. Nothing is asked: only
 * the store is read.
 * @param cache folder that runs share
 * @returns nothing for local detectors, which do not talk; a problem where the store or the detector cannot be read
 */
export async function debatesOf(
  run: ReadRun,
  cache: string,
): Promise<{ debates: ReadonlyMap<string, readonly Debate[]>; problem: string | null }> {
  const { detector } = run.result.experiment;
  if (!('file' in detector)) return { debates: new Map(), problem: null };
  const path = detector.annotations ?? join(cache, 'annotations.sqlite');
  const { value, problem } = await readable(async () => {
    const store = AnnotationStore.openExisting(path);
    try {
      return await debatesIn(store, run, detector);
    } finally {
      store.close();
    }
  });
  return { debates: new Map(value), problem };
}

async function debatesIn(
  store: AnnotationStore,
  { result: { experiment }, threads, agent: { decisions } }: ReadRun,
  detector: Extract<Experiment['detector'], { file: string }>,
): Promise<(readonly [thread: string, debates: readonly Debate[]])[]> {
  const task = taskOf(experiment);
  const maxPosts = experiment.maxJudgedPosts;
  const asking = { options: detector, task, threads: [], store, maxPosts, context: workContext() };
  const recalled = await recallByFile(asking);
  const judged = decisions.flatMap(({ threadId, postsUsed }) => {
    const thread = threads.get(threadId);
    if (thread === undefined) return [];
    const lengths = scheduledLengths({ schedule: detector.schedule, posts: Math.min(thread.posts.length, maxPosts) });
    // A judgement holds until the next judged prefix.
    const posts = lengths.findLast((length) => length <= postsUsed);
    if (posts === undefined) return [];
    const request = annotationRequest({ detector: recalled.detector, prefix: prefixOf(thread, posts) });
    return [{ threadId, posts, key: store.keyOf(request) }];
  });
  const judgements = store.getMany(judged.map(({ key }) => key));
  const { labels } = task;
  return judged.flatMap(({ threadId, posts, key }) => {
    const judgement = judgements.get(key);
    return judgement === undefined ? [] : [[threadId, [debateOf(judgement, { posts, labels })]] as const];
  });
}
