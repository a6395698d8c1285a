import { join } from 'node:path';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Detector } from '../../experts/detector.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { rumorTask as task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { type DetectorFile, loadDetectorFile } from '../config/detector-file.ts';
import { type Cache, cachedDetector, type PrepareProgress } from '../stop-agent/cache.ts';
import type { Experiment, ModelDetectorOptions } from '../stop-agent/experiment.ts';
import { judgeWithModels } from './judge-with-models.ts';

/** Who judges the threads of an experiment: a local detector, or the language models of a detector file. */
export type TrainingJudge =
  | { readonly local: LocalDetector }
  | { readonly file: DetectorFile; readonly options: ModelDetectorOptions };

export async function trainedOrFromFile(settings: {
  experiment: Experiment;
  seed: number;
  cache: Cache;
  detectorThreads: readonly Thread[];
  onProgress?: PrepareProgress;
  signal?: AbortSignal;
}): Promise<TrainingJudge> {
  const { experiment, detectorThreads, ...shared } = settings;
  const options = experiment.detector;
  if ('file' in options) return fromFile(options);
  return { local: await cachedDetector({ ...shared, options }, detectorThreads) };
}

/** The judge that a run was trained with. */
export async function judgeOfRun(run: RunDirectory, experiment: Experiment): Promise<TrainingJudge> {
  if ('file' in experiment.detector) return fromFile(experiment.detector);
  return { local: await LocalDetector.load({ path: join(run.path, 'detector.json') }) };
}

async function fromFile(options: ModelDetectorOptions): Promise<TrainingJudge> {
  const file = await loadDetectorFile(options.file);
  const labels = file.task.labels?.map(({ name }) => name) ?? [];
  if (labels.join() !== task.labels.join())
    throw new InputError(
      `${options.file} judges the task ${file.task.name}, whose labels are ${labels.join(', ') || 'categories'}; the stop agent needs the labels ${task.labels.join(', ')}, as the task rumor has them`,
    );
  return { file, options };
}

export interface JudgedForTraining {
  readonly detector: Detector;
  /** Of every thread. */
  readonly sequences: ReadonlyMap<string, JudgementSequence>;
  readonly counts: { readonly asked: number; readonly cached: number };
}

/** @throws ProviderError when a budget or an endpoint ended before every prefix was asked about; what was answered is kept. */
export async function judgeForTraining(settings: {
  judge: TrainingJudge;
  threads: readonly Thread[];
  /** Where judgements are kept unless the judge has a store of its own. */
  store: AnnotationStore;
  maxPosts: number;
  onProgress?: PrepareProgress;
  onNote?: (line: string) => void;
  signal?: AbortSignal;
}): Promise<JudgedForTraining> {
  const { judge, threads, maxPosts, onProgress, onNote, signal } = settings;
  const shared = {
    threads,
    maxPosts,
    ...(onProgress && {
      onProgress: ({ done, total }: { done: number; total: number }) => onProgress('judging prefixes', done, total),
    }),
    ...(signal && { signal }),
  };
  if ('local' in judge) {
    const { sequences, asked, cached } = await annotate({ ...shared, detector: judge.local, store: settings.store });
    return { detector: judge.local, sequences, counts: { asked, cached } };
  }
  const { annotations, schedule, concurrency, failures: onFailure } = judge.options;
  const store = annotations === null ? settings.store : AnnotationStore.open(annotations);
  try {
    const { detector, result } = await judgeWithModels({ ...shared, file: judge.file, store, schedule, concurrency });
    const { sequences, asked, cached, failed, failures, stopped, remaining } = result;
    if (stopped !== null)
      throw new ProviderError(
        `${stopped.message}\n${remaining} prefixes are not judged yet; what was answered is kept, so the same command goes on from there`,
        { cause: stopped },
      );
    if (failed > 0 && onFailure === 'stop')
      throw new ProviderError(
        `${failed} prefixes could not be judged (the first: thread ${failures[0].threadId}, ${failures[0].prefixLength} posts: ${failures[0].message}); give the same command again to ask for them once more, or set detector.failures=neither-label to go on without them`,
      );
    if (failed > 0) onNote?.(`${failed} prefixes could not be judged and count as neither label`);
    return { detector, sequences, counts: { asked, cached } };
  } finally {
    if (store !== settings.store) store.close();
  }
}
