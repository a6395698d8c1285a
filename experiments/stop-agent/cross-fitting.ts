import { assertEveryLabel, fewestInFolds } from '../../experts/detectors/local/training-labels.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { beginningOf, type LabelFold, labelFolds, timeFolds } from '../../src/data/label-folds.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import type { ThreadFacts, ThreadSource } from '../../src/data/thread-source.ts';
import { InputError } from '../../src/errors.ts';
import { smallestCalibration } from '../../src/metrics/learn-then-test.ts';
import { Random } from '../../src/tensor/random.ts';
import { within } from '../../src/work-context.ts';
import { testsOf } from '../judging/drawn-threads.ts';
import { type CrossFitting, type Experiment, noLabels, taskOf } from './experiment.ts';
import { judgeForTraining, type SeededExperiment } from './judge-for-training.ts';
import { loadWhole, type Parts } from './parts.ts';
import type { TrialMaterial } from './prepare.ts';

/*
 * Cross-fitting: a detector of the other folds judges each labelled thread. An agent and a threshold that learned from the other folds
 * decide it. So every label trains, and every label tests. What is shipped learned from all of them.
 */

/** The threads of a cross-fitted experiment with one seed. */
export interface CrossFittedThreads {
  readonly folds: readonly LabelFold[];
  /** Every labelled thread. */
  readonly labelled: readonly Thread[];
  /** Unlabelled threads that agents learn from, and those that nothing learns from. */
  readonly environment: readonly Thread[];
  readonly calibration: readonly Thread[];
}

/** With fewer unlabelled threads, labelled ones calibrate by cross-validation. */
const fewestForCalibration = 100;

/**
 * How many unlabelled threads go where: a third at most to the environment, and the rest calibrates. Where the rest is too small for
 * a calibration, the environment gets all.
 */
export function unlabelledParts(
  unlabelled: number,
  { crossFitting, guarantee }: { crossFitting: CrossFitting; guarantee: Experiment['guarantee'] },
): { environment: number; calibration: number } {
  const { environment, calibration } = crossFitting;
  const all = { environment: Math.min(environment, unlabelled), calibration: 0 };
  if (guarantee === null || guarantee.method === 'cross-validation') return all;
  const third = Math.min(environment, Math.floor(unlabelled / 3));
  const rest = Math.min(calibration, unlabelled - third);
  const smallest = smallestCalibration(guarantee);
  if (rest >= Math.max(smallest, fewestForCalibration)) return { environment: third, calibration: rest };
  if (guarantee.method === 'auto') return all;
  if (rest >= smallest) return { environment: third, calibration: rest };
  throw new InputError(
    `guarantee.method learn-then-test needs ${smallest} unlabelled threads that nothing learns from, and ${rest} are left; give more, which need no labels, or set guarantee.method to cross-validation`,
  );
}

/** The threads of an experiment that has labels, without reading them. @throws InputError where none has a label */
export function crossFittedFacts<Of extends ThreadFacts>(
  threads: readonly Of[],
  { experiment, seed }: { experiment: Experiment; seed: number },
): { labelled: Of[]; environment: Of[]; calibration: Of[] } {
  const { crossFitting, guarantee } = experiment;
  const task = taskOf(experiment);
  const labelled = threads.filter((thread) => task.goldLabel(thread) !== null);
  if (labelled.length === 0) throw noLabels(`${threads.length} threads`, task, '; label some of them');
  const labels = labelled.flatMap((thread) => task.goldLabel(thread) ?? []);
  assertEveryLabel({ task, labels, threads: threads.length, fewest: fewestInFolds });
  const unlabelled = Random.seeded({ seed, purpose: 'unlabelled environment' }).shuffled(
    threads.filter((thread) => task.goldLabel(thread) === null),
  );
  const sizes = unlabelledParts(unlabelled.length, { crossFitting: crossFitting!, guarantee });
  return {
    labelled,
    environment: unlabelled.slice(0, sizes.environment),
    calibration: unlabelled.slice(sizes.environment, sizes.environment + sizes.calibration),
  };
}

/** The threads of a cross-fitted experiment, read whole and divided into folds. */
export async function loadCrossFitted(
  data: ThreadSource,
  of: { experiment: Experiment; seed: number },
): Promise<CrossFittedThreads> {
  const whole = await loadWhole(data, crossFittedFacts(data.threads, of));
  const folds = foldsOf(whole.labelled, of);
  for (const [index, { test }] of folds.entries())
    testsOf(test, { part: foldName(index, folds.length), remedy: ', or use fewer folds (crossFitting.folds)' });
  return { ...whole, folds };
}

/** The folds of an experiment's labelled threads: those of `detect --train` with the same seed. */
function foldsOf(
  labelled: readonly Thread[],
  { experiment, seed }: { experiment: Experiment; seed: number },
): LabelFold[] {
  const task = taskOf(experiment);
  const { folds = 0, order } = experiment.crossFitting ?? {};
  if (order === 'by-time') return timeFolds(labelled, { folds });
  return labelFolds(labelled, { folds, seed, labelOf: (thread) => task.goldLabel(thread) ?? 0 });
}

/**
 * Trains a detector without each fold, and judges all threads that the agents need. The judgements of labelled threads are always those
 * of the detector that has not seen them.
 * @param settings.threads with the folds; those of the data unless given
 * @returns folds: a trial for each, which is tested on it; whole: the trial that learns from every label, and has no test part
 */
export async function crossFit(settings: SeededExperiment & { threads?: CrossFittedThreads }) {
  const { experiment, data, context } = settings;
  const { threads = await loadCrossFitted(data, settings) } = settings;
  const { folds, labelled, environment, calibration } = threads;
  const judgedBy = (detectorThreads: readonly Thread[], judged: readonly Thread[], stage: string) =>
    judgeForTraining({ ...settings, context: within(context, stage) }, { detectorThreads, threads: judged });
  const outOfFold = new Map<string, JudgementSequence>();
  const judgements: Awaited<ReturnType<typeof judgeForTraining>>[] = [];
  for (const [index, { train, test }] of folds.entries()) {
    const stage = foldName(index, folds.length);
    const judged = await judgedBy(train, [...test, ...environment, ...calibration], stage);
    judgements.push(judged);
    for (const { id } of test) outOfFold.set(id, judged.sequences.get(id)!);
  }
  /** Threads that a detector which has not seen them has judged. The first block of time has none. */
  const judgedOnes = (threads: readonly Thread[]) => threads.filter(({ id }) => outOfFold.has(id));
  const materialOf = (
    { detector, sequences }: (typeof judgements)[number],
    { learned, test }: { learned: readonly Thread[]; test: readonly Thread[] },
  ): TrialMaterial => {
    const demonstrations = judgedOnes(learned);
    // What is tested on later threads has read none that is as late.
    const tested = experiment.crossFitting?.order === 'by-time' ? test : [];
    const end = tested.reduce((first, thread) => Math.min(first, startOf(thread)), Infinity);
    const isEarlier = (thread: Thread) => startOf(thread) < end;
    const parts: Parts = {
      detector: [...learned],
      demonstrations,
      environment: environment.filter(isEarlier),
      test: [...test],
      development: [],
      calibration: calibration.filter(isEarlier),
    };
    const ofLabelled = demonstrations.map(({ id }) => [id, outOfFold.get(id)!] as const);
    return { parts, detector, sequences: new Map([...ofLabelled, ...sequences]) };
  };
  return {
    threads,
    folds: folds.map(({ train, test }, index) =>
      materialOf(judgements[index], { learned: train, test: test.filter(isFairTest) }),
    ),
    async whole(): Promise<TrialMaterial> {
      const judged = await judgedBy(labelled, [...environment, ...calibration], 'all labels');
      return materialOf(judged, { learned: labelled, test: [] });
    },
  };
}

/** The name of a fold in progress lines. */
export function foldName(index: number, folds: number): string {
  return `fold ${index + 1} of ${folds}`;
}

function startOf(thread: Thread): number {
  return beginningOf(thread) ?? Number.NEGATIVE_INFINITY;
}
