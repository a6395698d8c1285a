import { policyNetwork } from '../../checkpoints/policy/network.ts';
import type { Thread } from '../../src/data/thread.ts';
import { loadIndexed } from '../../src/data/thread-source.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { fairTests } from '../judging/drawn-threads.ts';
import { withoutTrained } from '../run/parts-file.ts';
import { agentName, decideByRules, isShown } from './decisions.ts';
import { labelField } from './experiment.ts';
import { type SystemScores, scoreSystem } from './metrics.ts';
import { openStopAgentRun } from './open-run.ts';
import { thresholdOf } from './operating-point.ts';
import { openData, trainedThreads } from './parts.ts';
import { decideByPolicies, learntPolicy } from './states.ts';

/** A run, and other data to test it on. */
export interface EvaluateRunSettings {
  readonly run: string;
  /** A thread file. */
  readonly data: string;
  /** A run whose detector judges instead; the run's own where it is left out. */
  readonly detector?: string;
  /** Folder with the shared cache. */
  readonly runs: string;
  readonly skipInvalid: boolean;
  /** Keeps threads that the run was trained on. */
  readonly includeTrained: boolean;
  readonly context: WorkContext;
}

/**
 * A run's agent on another data set, with its own detector or with that of another run: every labelled thread is tested that neither
 * has learnt from. The rules stand beside.
 * @throws InputError when a run has no checkpoint or they have different labels, or the data has no labelled thread, or none that is
 * new to both
 */
export async function evaluateRun(
  settings: EvaluateRunSettings,
): Promise<{ systems: SystemScores[]; threads: number; seed: number }> {
  const { data, detector, skipInvalid, includeTrained, context } = settings;
  const opened = await openStopAgentRun(settings);
  const { run, experiment, task, seed, materials } = opened;
  const judging = detector === undefined ? opened : await openStopAgentRun({ ...settings, run: detector });
  if (judging.task.labels.join('\n') !== task.labels.join('\n'))
    throw new InputError(
      `the detector of ${judging.run.path} says ${judging.task.labels.join(', ')}, and the agent of ${run.path} learnt from one that says ${task.labels.join(', ')}; give a run of the same task`,
    );
  const all = await openData({ ...experiment, data: { threads: data, skipInvalid } }, context.onNote);
  const labelled = await loadIndexed(
    all,
    fairTests(
      all.threads.filter((thread) => task.goldLabel(thread) !== null),
      context,
    ),
  );
  if (labelled.length === 0)
    throw new InputError(`none of the ${all.threads.length} threads of ${data} has a label (${labelField(task)})`);
  const trained = new Set([run, judging.run].flatMap((own) => [...trainedThreads(own)]));
  const threads: Thread[] = withoutTrained(labelled, { trained, includeTrained, name: data, onNote: context.onNote });

  const sequences = await judging.judged(threads, { maxPosts: experiment.maxJudgedPosts });
  const policy = await learntPolicy(policyNetwork(opened.agent), { ...materials, threshold: thresholdOf(run) });
  const decided = await decideByPolicies({ [agentName]: policy }, threads, { ...materials, sequences });
  const systems = [...decided.systems, ...decideByRules(experiment, decided.tested, materials.schedule)];
  const resample = { seed, resamples: experiment.evaluation.resamples };
  return {
    systems: systems.map((system) =>
      scoreSystem(system, {
        labels: task.labels,
        alerts: task.alerts,
        costs: experiment.costs,
        resample: isShown(system.name) ? resample : undefined,
      }),
    ),
    threads: threads.length,
    seed,
  };
}
