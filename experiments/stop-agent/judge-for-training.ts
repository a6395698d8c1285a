import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Detector } from '../../experts/detector.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { sha256 } from '../../src/content-hash.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { cachedDetector } from '../judging/cached-detector.ts';
import { checkJudged } from '../judging/check-judged.ts';
import { type Judge, judgeBy, openJudgeOf } from '../judging/judge.ts';
import type { Judged } from '../judging/judge-options.ts';
import type { Cache } from './cache.ts';
import { type Experiment, type ModelDetectorOptions, taskOf } from './experiment.ts';

/** Who judges the threads of an experiment, and how. */
export interface TrainingJudge {
  readonly judge: Judge;
  readonly options: Omit<ModelDetectorOptions, 'file'>;
}

/** How a detector judges that was trained here: every prefix, into the store that all runs share. */
const trainedHere: TrainingJudge['options'] = {
  annotations: null,
  schedule: { name: 'every' },
  concurrency: 1,
  failures: 'stop',
};

/** The detector that an experiment names, or one that is trained on `detectorThreads`. */
export async function trainedOrFromFile(settings: {
  experiment: Experiment;
  seed: number;
  cache: Cache;
  detectorThreads: readonly Thread[];
  context: WorkContext;
}): Promise<TrainingJudge> {
  const { experiment, detectorThreads, ...shared } = settings;
  const options = experiment.detector;
  if ('file' in options) return { judge: await openJudgeOf(options.file, taskOf(experiment)), options };
  const task = taskOf(experiment);
  const detector = await cachedDetector({ ...shared, options, task }, detectorThreads);
  return { judge: judgeBy(detector, { name: 'local', task }), options: trainedHere };
}

export interface JudgedForTraining {
  readonly detector: Detector;
  /** Of every thread. */
  readonly sequences: ReadonlyMap<string, JudgementSequence>;
}

interface JudgeForTrainingSettings {
  judge: TrainingJudge;
  threads: readonly Thread[];
  /** Where judgements are kept unless the judge has a store of its own. */
  store: AnnotationStore;
  maxPosts: number;
  context: WorkContext;
}

/** @throws ProviderError when a budget or an endpoint ended before every prefix was asked about; what was answered is kept. */
export async function judgeForTraining(settings: JudgeForTrainingSettings): Promise<JudgedForTraining> {
  const judgements = await judged(settings, 'live');
  checkJudged(judgements, {
    // As in the paper.
    countAs: 'neither label',
    goOn: settings.judge.options.failures === 'stop' ? 'detector.failures=neither-label' : null,
    askAgain: '`earshot annotate --retry-unreadable`',
    onNote: settings.context.onNote,
  });
  return { detector: judgements.detector, sequences: judgements.result.sequences };
}

/** Judgements that are not in the store, and their cost. */
export interface MissingJudgements {
  /** Prefixes that would have to be paid for. */
  readonly missing: number;
  /** Of language models; null of a detector that costs nothing. */
  readonly estimates: Judged['estimates'];
}

/** Reads the same judgements from the store again. Nothing is written, and nothing that costs money is asked. */
export async function recallForTraining(
  settings: JudgeForTrainingSettings,
): Promise<JudgedForTraining & MissingJudgements> {
  const { detector, result, estimates } = await judged(settings, 'dry-run');
  const { sequences, asked } = result;
  return { detector, sequences, estimates, missing: estimates === null ? 0 : asked };
}

/** Identifies judgements by the label of every prefix. */
export function annotationsHash(sequences: ReadonlyMap<string, JudgementSequence>): string {
  return sha256([...sequences.values()].map(({ threadId, predicted }) => [threadId, [...predicted]]));
}

async function judged(settings: JudgeForTrainingSettings, mode: 'live' | 'dry-run') {
  const { judge, threads, maxPosts, context } = settings;
  const { annotations, schedule, concurrency } = judge.options;
  const store = annotations === null ? settings.store : AnnotationStore.open(annotations);
  try {
    return await judge.judge.judge({
      threads,
      store,
      mode,
      schedule,
      maxPosts,
      concurrency,
      // A recall is over at once.
      context: mode === 'live' ? context : workContext({ signal: context.signal }),
    });
  } finally {
    if (store !== settings.store) store.close();
  }
}
