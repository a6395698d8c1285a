import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import type { PrefixSchedule } from '../../experts/prefix-schedule.ts';
import type { Task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { policyOfState } from '../../trainers/stop-agent/network-state.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import { loadTrainer } from '../../trainers/trainer-checkpoint.ts';
import { openRunOf } from '../run/open-run-of.ts';
import { detectorOfRun, openCache, studentOfRun } from './cache.ts';
import { type Experiment, experimentSchema, taskOf } from './experiment.ts';
import {
  judgeForTraining,
  judgeOfRun,
  type MissingJudgements,
  recallForTraining,
  type TrainingJudge,
} from './judge-for-training.ts';
import { projectionOfRun } from './projection.ts';
import { scheduleOfRun } from './query-schedule.ts';
import { deployedRun, evaluatedRun } from './shipped-run.ts';
import { type StateMaterials, stateIdentityOf } from './states.ts';

/** A trained stop agent, ready to decide. */
export interface OpenedRun {
  readonly run: RunDirectory;
  /** The run whose decisions say what it is worth: itself, or the cross-fitted seed that it was trained beside. */
  readonly evaluated: RunDirectory;
  readonly experiment: Experiment;
  readonly task: Task;
  readonly seed: number;
  /** Iterations that the agent was trained for. */
  readonly step: number;
  readonly agent: StopPolicy;
  /** What its states are made from. */
  readonly materials: StateMaterials;
  /** Its local detector; null where the experiment names a file. */
  readonly detector: () => Promise<LocalDetector | null>;
  /**
   * What its detector says of every prefix of threads, or of those of a schedule. What language models say is kept in the
   * store, and asked once.
   */
  readonly judged: (
    threads: readonly Thread[],
    of?: { schedule?: PrefixSchedule; maxPosts?: number },
  ) => Promise<ReadonlyMap<string, JudgementSequence>>;
  /** What it would cost to judge these threads. */
  readonly missing: (threads: readonly Thread[]) => Promise<MissingJudgements>;
}

/**
 * Opens a run with its newest checkpoint.
 * @param options.runs folder with the shared cache
 * @throws InputError when the folder is no stop agent's run, has no checkpoint yet, or one of other states
 */
export async function openStopAgentRun(options: {
  run: string;
  runs: string;
  context: WorkContext;
}): Promise<OpenedRun> {
  const { runs, context } = options;
  const run = openRunOf(deployedRun(options.run), 'stop-agent');
  const latest = run.trainedCheckpoint();
  if (!run.isFinished())
    context.onNote(`${run.path} is not finished; its agent after ${latest.step} iterations is used`);
  const experiment = run.readConfig(experimentSchema);
  await selectBackend(experiment.backend);
  const cache = await openCache(join(runs, 'cache'), experiment);
  const reader = await studentOfRun(run.path, { experiment, cache });
  const student = reader === null ? null : { reader, heldOut: new Map() };
  const schedule = scheduleOfRun(run, experiment);
  const projection = projectionOfRun(run.path, experiment);
  const materials = { experiment, cache, student, projection, schedule };
  const identity = stateIdentityOf(materials);
  let judge: Promise<TrainingJudge> | undefined;
  const store = cache.annotations;
  return {
    run,
    evaluated: RunDirectory.open(evaluatedRun(run.path)),
    experiment,
    task: taskOf(experiment),
    seed: run.readRecord().seed,
    step: latest.step,
    agent: policyOfState(loadTrainer(latest.path, { algorithm: experiment.agent.algorithm, identity })),
    materials,
    detector: () => detectorOfRun(run.path, materials),
    async judged(threads, { maxPosts = experiment.maxJudgedPosts, ...asked } = {}) {
      judge ??= judgeOfRun(run, materials);
      const own = await judge;
      const asking = { ...own, options: { ...own.options, ...asked } };
      return (await judgeForTraining({ judge: asking, threads, store, maxPosts, context })).sequences;
    },
    async missing(threads) {
      judge ??= judgeOfRun(run, materials);
      const own = await judge;
      // A detector that costs nothing would judge everything, here and once more later.
      if (!own.judge.asksModels) return { missing: 0, estimates: null };
      return recallForTraining({ judge: own, threads, store, maxPosts: experiment.maxJudgedPosts, context });
    },
  };
}
