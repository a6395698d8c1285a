import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { rumorTask as task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { loadMember } from '../../trainers/member-checkpoint.ts';
import { policyOfState } from '../../trainers/stop-agent/network-state.ts';
import { judgeForTraining, judgeOfRun } from '../judging/judge-for-training.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';
import { openCache } from './cache.ts';
import { decide, decideByRule, evaluationRules, type SystemScores, scoreDecisions, testThreads } from './decisions.ts';
import { type Experiment, experimentSchema } from './experiment.ts';
import { loadData } from './parts.ts';
import { stateIdentityOf, statesOf, studentOfRun } from './states.ts';
import { agentName, greedyStops } from './trial.ts';

/** A run, and other data to test it on. */
export interface EvaluateRunSettings extends TrialHooks {
  readonly run: string;
  /** A thread file. */
  readonly data: string;
  /** Folder with the shared cache. */
  readonly runs: string;
  readonly skipInvalid: boolean;
}

/**
 * A run's agent and detector on another data set: every labelled thread of it is tested. The rules stand beside.
 * @throws InputError when the run has no checkpoint, or the data has no labelled thread.
 */
export async function evaluateRun(
  settings: EvaluateRunSettings,
): Promise<{ systems: SystemScores[]; threads: number; seed: number }> {
  const run = RunDirectory.open(settings.run);
  const latest = run.latestCheckpoint();
  if (latest === null)
    throw new InputError(`${settings.run} has no checkpoint yet; train it first, or give the folder of another run`);
  if (!run.isFinished())
    settings.onNote?.(`${settings.run} is not finished; its agent after ${latest.step} iterations is tested`);
  const saved = run.readConfig(experimentSchema) as Experiment;
  const experiment: Experiment = {
    ...saved,
    data: { ...saved.data, threads: settings.data, skipInvalid: settings.skipInvalid },
  };
  const { seed } = run.readRecord();
  await selectBackend(experiment.backend);
  const all = await loadData(experiment, settings.onNote);
  const threads = all.filter((thread) => task.goldLabel(thread) !== null);
  if (threads.length === 0)
    throw new InputError(`none of the ${all.length} threads of ${settings.data} has a label (rumor: true or false)`);

  const cache = await openCache(join(settings.runs, 'cache'), experiment);
  const student = await studentOfRun(run.path, experiment);
  const { sequences } = await judgeForTraining({
    judge: await judgeOfRun(run, experiment),
    threads,
    store: cache.annotations,
    maxPosts: experiment.maxJudgedPosts,
    ...(settings.onStage && { onProgress: settings.onStage }),
    ...(settings.onNote && { onNote: settings.onNote }),
    ...(settings.signal && { signal: settings.signal }),
  });
  const identity = stateIdentityOf({ experiment, cache, student });
  const policy = policyOfState(loadMember(latest.path, { algorithm: experiment.agent.algorithm, identity }));
  const tested = testThreads(threads, sequences);
  const tableOf = (own: readonly Thread[]) => statesOf(own, { experiment, cache, student });
  const stops = await greedyStops(policy, tested, tableOf);
  const options = { seed, resamples: experiment.evaluation.resamples };
  return {
    systems: [
      scoreDecisions(decide(agentName, tested, stops), { ...options, calls: 'one' }),
      ...evaluationRules(experiment.evaluation).map((rule) =>
        scoreDecisions(decideByRule(rule, tested), { ...options, calls: rule.calls }),
      ),
    ],
    threads: threads.length,
    seed,
  };
}
