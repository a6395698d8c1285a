import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Detector } from '../../experts/detector.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { sha256 } from '../../src/content-hash.ts';
import type { Task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { cachedDetector } from '../judging/cached-detector.ts';
import { judgeBy, openJudgeOf } from '../judging/judge.ts';
import { checkJudged, type Judged } from '../judging/judge-options.ts';
import type { Cache } from './cache.ts';
import { type Experiment, type ModelDetectorOptions, taskOf } from './experiment.ts';
import type { ExperimentData } from './parts.ts';

/** An experiment with one seed, its data, and the work that all runs share. */
export interface SeededExperiment {
  readonly experiment: Experiment;
  readonly seed: number;
  readonly data: ExperimentData;
  readonly cache: Cache;
  readonly context: WorkContext;
}

interface JudgedForTraining {
  readonly detector: Detector;
  /** Of every thread. */
  readonly sequences: ReadonlyMap<string, JudgementSequence>;
}

/**
 * Judges threads with the detector file of an experiment, or with a local detector that is trained on other threads.
 * @throws as `judgeByFile`
 */
export async function judgeForTraining(
  { experiment, seed, cache, context }: Omit<SeededExperiment, 'data'>,
  { detectorThreads, threads }: { detectorThreads: readonly Thread[]; threads: readonly Thread[] },
): Promise<JudgedForTraining> {
  const { detector: options, maxJudgedPosts: maxPosts } = experiment;
  const task = taskOf(experiment);
  const judging = { task, threads, store: cache.annotations, maxPosts, context };
  if ('file' in options) return judgeByFile({ ...judging, options });
  const detector = await cachedDetector({ options, task, seed, cache, context }, detectorThreads);
  const { result } = await judgeBy(detector, { name: 'local', task }).judge(judging);
  return { detector, sequences: result.sequences };
}

interface JudgeByFileSettings {
  readonly options: ModelDetectorOptions;
  readonly task: Task;
  readonly threads: readonly Thread[];
  /** Where judgements are kept unless the options name a store. */
  readonly store: AnnotationStore;
  readonly maxPosts: number;
  readonly context: WorkContext;
}

/** @throws ProviderError when a budget or an endpoint ended before every prefix was asked about; what was answered is kept. */
export async function judgeByFile(settings: JudgeByFileSettings): Promise<JudgedForTraining> {
  const judged = await askFile(settings, 'live');
  checkJudged(judged, {
    // As in the paper.
    countAs: 'neither label',
    goOn: settings.options.failures === 'stop' ? 'detector.failures=neither-label' : null,
    askAgain: '`earshot annotate --retry-unreadable`',
    onNote: settings.context.onNote,
  });
  return { detector: judged.detector, sequences: judged.result.sequences };
}

/**
 * Reads the same judgements from the store again. Nothing is written, and nothing that costs money is asked.
 * @returns with the number of prefixes that would have to be paid for, and their cost
 */
export async function recallByFile(
  settings: JudgeByFileSettings,
): Promise<JudgedForTraining & Pick<Judged, 'estimates'> & { readonly missing: number }> {
  // A recall is over at once.
  const context = workContext({ signal: settings.context.signal });
  const { detector, result, estimates } = await askFile({ ...settings, context }, 'dry-run');
  return { detector, sequences: result.sequences, estimates, missing: estimates === null ? 0 : result.asked };
}

async function askFile(settings: JudgeByFileSettings, mode: 'live' | 'dry-run'): Promise<Judged> {
  const { options, task, ...judging } = settings;
  const { file, annotations, schedule, concurrency } = options;
  const judge = await openJudgeOf(file, task);
  const store = annotations === null ? settings.store : AnnotationStore.open(annotations);
  try {
    return await judge.judge({ ...judging, store, mode, schedule, concurrency });
  } finally {
    if (store !== settings.store) store.close();
  }
}

/** Identifies judgements by the label of every prefix. */
export function annotationsHash(sequences: ReadonlyMap<string, JudgementSequence>): string {
  return sha256([...sequences.values()].map(({ threadId, predicted }) => [threadId, [...predicted]]));
}
