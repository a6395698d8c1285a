import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { heldOutScores } from '../../experts/detectors/local/held-out.ts';
import { curveFolds } from '../../src/data/label-folds.ts';
import { isFairTest } from '../../src/data/thread.ts';
import { classificationScores } from '../../src/metrics/classification.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { within } from '../../src/work-context.ts';
import { writeParts } from '../run/parts-file.ts';
import { decideByOtherFolds, type ScoredTestThread } from './choose-threshold.ts';
import { type CrossFittedThreads, crossFit, foldName } from './cross-fitting.ts';
import { readJudged, readStopProbabilities, readStops, writeDecided } from './decided-files.ts';
import { agentName, type Decision, type TestThread } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { scoreSystem } from './metrics.ts';
import { keepThreshold } from './operating-point.ts';
import { policyFolderName } from './policy/policy-folder.ts';
import type { TrialMaterial, TrialSettings } from './prepare.ts';
import { readTrialResult, resultOfRun, type StoredResult } from './result.ts';
import { shippedFolder } from './shipped-run.ts';
import { runTrial } from './trial.ts';

/*
 * The run of a cross-fitted seed:
 *
 *   seed-1/                  what folds decided of all labelled threads, none of which they learned from
 *     fold-1/ … fold-5/      a run for each fold
 *     shipped/               the run that learned from all labels; of the first seed
 *     policy/                its policy, as a bundle
 *     labels-87/fold-1/ …    the folds with fewer labels, for the learning curve; of the first seed
 */

/**
 * Trains and tests the folds of a seed, then what is shipped, and puts the decisions of all folds together. It resumes what was begun.
 * False when the signal stopped it.
 * @throws InputError when the directory holds a run of another config, seed or data
 */
export async function runCrossFitted(trial: TrialSettings): Promise<boolean> {
  const { experiment, seed, directory, data, cache, backend, context } = trial;
  const hashes = { data: data.hash, embeddings: cache.embeddings.identityHash };
  const facts = { seed, backend: backend.name, device: backend.device, hashes };
  const run = resultOfRun.unfinished(directory, { config: experiment, facts });
  if (run === null) return true;
  const material = await crossFit(trial);
  const chosen = material.threads.labelled.filter((thread) => !isFairTest(thread)).length;
  const joined = await foldsTogether(trial, material.folds, { below: directory, chosen });
  if (joined === null) return false;
  const { labelled, environment, calibration } = material.threads;
  const isTested = new Set(joined.judged.map(({ threadId }) => threadId));
  const tested = labelled.filter(({ id }) => isTested.has(id));
  writeParts(run, { test: tested, environment: [...environment], calibration: [...calibration] });
  const { labels } = taskOf(experiment);
  const { decisions: stops, judged, scores: scored } = joined;
  writeDecided(directory, { stops, judged, scored, labels, part: 'test' });

  const threads = { test: tested.length, environment: environment.length, calibration: calibration.length };
  let learningCurve: StoredResult['learningCurve'] = null;
  // One seed ships a policy: the first. Others say how much results vary.
  if (seed === experiment.seeds[0]) {
    const whole: TrialSettings = {
      ...trial,
      context: within(context, 'all labels'),
      directory: join(directory, shippedFolder),
      material: await material.whole(),
      policy: {
        folder: join(directory, policyFolderName),
        threads: tested,
        result: () =>
          readTrialResult(run, { withIntervals: 'agent' }, { ...joined.result, seed, threads, learningCurve: null }),
      },
      heldOutScores: new Map(joined.scores.map(({ threadId, scores }) => [threadId, scores])),
    };
    if (!(await runTrial(whole))) return false;
    learningCurve = await learningCurveOf(trial, { threads: material.threads, joined });
    if (context.signal.aborted) return false;
  }
  resultOfRun.write(run, { ...joined.result, seed, threads, learningCurve });
  return true;
}

/** The decisions of all folds of a cross-validation. */
interface JoinedFolds {
  /** System by system; the threads of each in the order of the data. */
  readonly decisions: readonly Decision[];
  /** In the order of the data. */
  readonly judged: readonly TestThread[];
  readonly scores: readonly { readonly threadId: string; readonly scores: readonly number[] }[];
  readonly result: Omit<StoredResult, 'seed' | 'threads' | 'learningCurve'>;
}

/** Runs the folds one after the other. Null when the signal stopped them. */
async function foldsTogether(
  trial: TrialSettings,
  folds: readonly TrialMaterial[],
  { below, chosen = 0 }: { below: string; chosen?: number },
): Promise<JoinedFolds | null> {
  const { experiment } = trial;
  const paths: string[] = [];
  for (const [index, material] of folds.entries()) {
    const directory = join(below, `fold-${index + 1}`);
    const context = within(trial.context, foldName(index, folds.length));
    if (!(await runTrial({ ...trial, directory, material, policy: null, context }))) return null;
    paths.push(directory);
  }
  const placeOf = new Map(trial.data.threads.map(({ id, place }) => [id, place]));
  const inOrder = <Of extends { readonly threadId: string }>(items: readonly Of[]) =>
    items.toSorted((a, b) => (placeOf.get(a.threadId) ?? 0) - (placeOf.get(b.threadId) ?? 0));
  const { labels } = taskOf(experiment);
  const results = paths.map((path) => resultOfRun.read(RunDirectory.open(path)));
  // A fold without demonstrations has no clone.
  const systems = results[0].systems.filter(({ name }) =>
    results.every((result) => result.systems.some((system) => system.name === name)),
  );
  const calibrates = folds.every(({ parts }) => parts.calibration.length > 0);
  const stops = paths.flatMap((path) => readStops(path, { labels, part: 'test' }));
  // Without calibration threads, the thresholds of settled agents are found on other folds, when all have been scored.
  const byOthers =
    calibrates || experiment.agent.algorithm !== 'settled' ? [] : decideByOtherFolds(paths.map(scoredFold), experiment);
  for (const [index, { threshold }] of byOthers.entries()) keepThreshold({ path: paths[index] }, { threshold });
  const decided =
    byOthers.length === 0
      ? stops
      : [...byOthers.flatMap(({ decisions }) => decisions), ...stops.filter(({ system }) => system !== agentName)];
  const judged = inOrder(paths.flatMap((path) => readJudged(path, 'test')));
  const meanOf = (numbersOf: (result: StoredResult) => Readonly<Record<string, number>>) =>
    Object.fromEntries(
      Object.keys(numbersOf(results[0])).map((key) => [key, mean(results.map((result) => numbersOf(result)[key]))]),
    );
  const counts = meanOf(({ demonstrations }) => demonstrations);
  return {
    decisions: systems.flatMap(({ name }) => inOrder(decided.filter(({ system }) => system === name))),
    judged,
    scores: inOrder(
      paths.flatMap((path) =>
        Array.from(readStopProbabilities(path, 'test') ?? [], ([threadId, scores]) => ({ threadId, scores })),
      ),
    ),
    result: {
      demonstrations: Object.fromEntries(Object.entries(counts).map(([expert, count]) => [expert, Math.round(count)])),
      stopsAtFirstPost: meanOf(({ stopsAtFirstPost }) => stopsAtFirstPost),
      systems,
      part: 'test',
      schedule: results[0].schedule,
      detector: heldOutScores({
        gold: judged.map(({ goldLabel }) => goldLabel),
        said: {
          'all posts': judged.map(({ sequence: { predicted } }) => predicted[predicted.length - 1]),
          'claim only': judged.map(({ sequence: { predicted } }) => predicted[0]),
        },
        labels,
        chosen,
      }),
      unlikeTraining:
        results.reduce((sum, { unlikeTraining, threads }) => sum + unlikeTraining * threads.test, 0) / judged.length,
    },
  };
}

/** The tested threads of a fold, scored by its agent. */
function scoredFold(path: string): ScoredTestThread[] {
  const scores = readStopProbabilities(path, 'test');
  return readJudged(path, 'test').map((thread) => ({ thread, scores: scores?.get(thread.threadId) ?? [] }));
}

/** Cross-validation with shares of the labels, and with all. Null if the experiment asks for none, or labels are too few. */
async function learningCurveOf(
  trial: TrialSettings,
  { threads, joined }: { threads: CrossFittedThreads; joined: JoinedFolds },
): Promise<StoredResult['learningCurve']> {
  const { experiment, seed, directory } = trial;
  const { labelled } = threads;
  const task = taskOf(experiment);
  if (experiment.crossFitting?.learningCurve !== true) return null;
  const points: NonNullable<StoredResult['learningCurve']> = [];
  for (const { labels, folds } of curveFolds(threads.folds, { labelled, seed, task })) {
    const part = { ...trial, context: within(trial.context, `${labels} labels`) };
    const material = await crossFit({ ...part, threads: { ...threads, folds } });
    const fewer = await foldsTogether(part, material.folds, { below: join(directory, `labels-${labels}`) });
    if (fewer === null) return null;
    points.push(pointOf(fewer, { experiment, labels }));
  }
  return points.length === 0 ? null : [...points, pointOf(joined, { experiment, labels: labelled.length })];
}

function pointOf(
  { decisions, judged }: JoinedFolds,
  { experiment, labels }: { experiment: Experiment; labels: number },
) {
  const task = taskOf(experiment);
  const agent = decisions.filter(({ system }) => system === agentName);
  const { values } = scoreSystem({ name: agentName, queries: 'every', decisions: agent }, task);
  const { macroF1 } = classificationScores({
    gold: judged.map(({ goldLabel }) => goldLabel),
    predicted: judged.map(({ sequence: { predicted } }) => predicted[predicted.length - 1]),
    classes: task.labels.length,
  });
  return { labels, wholeMacroF1: macroF1, macroF1: values.macroF1 ?? 0, earliness: values.er ?? 1 };
}
