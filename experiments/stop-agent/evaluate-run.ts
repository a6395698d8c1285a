import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { loadMember } from '../../trainers/member-checkpoint.ts';
import { policyOfState } from '../../trainers/stop-agent/network-state.ts';
import { decideStops } from '../../trainers/stop-agent/policy.ts';
import { judgeForTraining, judgeOfRun } from '../judging/judge-for-training.ts';
import { openCache } from './cache.ts';
import { agentName, decide, decideByRules, testThreads } from './decisions.ts';
import { type Experiment, experimentSchema, labelField, taskOf } from './experiment.ts';
import { type SystemScores, scoreSystem } from './metrics.ts';
import { loadData } from './parts.ts';
import { stateIdentityOf, statesOf, studentOfRun } from './states.ts';

/** A run, and other data to test it on. */
export interface EvaluateRunSettings {
  readonly run: string;
  /** A thread file. */
  readonly data: string;
  /** Folder with the shared cache. */
  readonly runs: string;
  readonly skipInvalid: boolean;
  readonly context: WorkContext;
}

/**
 * A run's agent and detector on another data set: every labelled thread of it is tested. The rules stand beside.
 * @throws InputError when the run has no checkpoint, or the data has no labelled thread.
 */
export async function evaluateRun(
  settings: EvaluateRunSettings,
): Promise<{ systems: SystemScores[]; threads: number; seed: number }> {
  const { context } = settings;
  const run = RunDirectory.open(settings.run);
  const latest = run.latestCheckpoint();
  if (latest === null)
    throw new InputError(`${settings.run} has no checkpoint yet; train it first, or give the folder of another run`);
  if (!run.isFinished())
    context.onNote(`${settings.run} is not finished; its agent after ${latest.step} iterations is tested`);
  const saved = run.readConfig(experimentSchema);
  const experiment: Experiment = {
    ...saved,
    data: { ...saved.data, threads: settings.data, skipInvalid: settings.skipInvalid },
  };
  const { seed } = run.readRecord();
  await selectBackend(experiment.backend);
  const task = taskOf(experiment);
  const all = await loadData(experiment, context.onNote);
  const threads = all.filter((thread) => task.goldLabel(thread) !== null);
  if (threads.length === 0)
    throw new InputError(`none of the ${all.length} threads of ${settings.data} has a label (${labelField(task)})`);

  const cache = await openCache(join(settings.runs, 'cache'), experiment);
  const student = await studentOfRun(run.path, experiment);
  const { sequences } = await judgeForTraining({
    judge: await judgeOfRun(run, experiment),
    threads,
    store: cache.annotations,
    maxPosts: experiment.maxJudgedPosts,
    context,
  });
  const identity = stateIdentityOf({ experiment, cache, student });
  const policy = policyOfState(loadMember(latest.path, { algorithm: experiment.agent.algorithm, identity }));
  const tested = testThreads(threads, { sequences, task });
  const tableOf = (own: readonly Thread[]) => statesOf(own, { experiment, cache, student });
  const stops = await decideStops(policy, { threads, tableOf });
  const systems = [
    decide(
      agentName,
      tested,
      stops.map(({ stopStep }) => stopStep),
    ),
    ...decideByRules(experiment.evaluation, tested),
  ];
  const options = { labels: task.labels, resample: { seed, resamples: experiment.evaluation.resamples } };
  return {
    systems: systems.map((system) => scoreSystem(system, options)),
    threads: threads.length,
    seed,
  };
}
