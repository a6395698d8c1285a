import type { Thread } from '../../src/data/thread.ts';
import { loadIndexed } from '../../src/data/thread-source.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { fairTests } from '../judging/drawn-threads.ts';
import { openAgentRun } from '../run/kind-of-run.ts';
import { withoutTrained } from '../run/parts-file.ts';
import { agentName, decideByRules, isShown } from './decisions.ts';
import { experimentSchema, noLabels, taskOf } from './experiment.ts';
import { type SystemScores, scoreSystem } from './metrics.ts';
import { openData } from './parts.ts';
import { askOwnModels } from './policy/own-models.ts';
import { openPolicy } from './policy/policy-folder.ts';
import { aimOf } from './recommendation.ts';
import { resultOfRun } from './result.ts';
import { readWhole } from './scored-thread.ts';
import { decideRead } from './states.ts';

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
 * @throws InputError when a run has no policy or they have different labels, or the data has no labelled thread, or none that is new to
 *   both
 */
export async function evaluateRun(
  settings: EvaluateRunSettings,
): Promise<{ systems: SystemScores[]; threads: number; seed: number }> {
  const { run, data, detector, runs, skipInvalid, includeTrained, context } = settings;
  // Refuses a run that is not finished.
  resultOfRun.read(openAgentRun(run));
  const agent = await openPolicy(run);
  const judging = detector === undefined ? agent : await openPolicy(detector);
  const { seed, experiment: saved } = agent.manifest.training;
  const experiment = experimentSchema.parse(saved);
  const task = taskOf(experiment);
  const { labels } = judging.definition.task;
  if (labels.join('\n') !== task.labels.join('\n'))
    throw new InputError(
      `the detector of ${detector} says ${labels.join(', ')}, and the agent of ${run} learnt from one that says ${task.labels.join(', ')}; give a run of the same task`,
    );
  const all = await openData({ ...experiment, data: { threads: data, skipInvalid } }, context.onNote);
  const labelled = await loadIndexed(
    all,
    fairTests(
      all.threads.filter((thread) => task.goldLabel(thread) !== null),
      context,
    ),
  );
  if (labelled.length === 0) throw noLabels(`${all.threads.length} threads of ${data}`, task);
  const trained = new Set([...agent.trained, ...judging.trained]);
  const threads: Thread[] = withoutTrained(labelled, { trained, includeTrained, name: data, onNote: context.onNote });

  const { definition } = agent;
  const asking = { threads, runs, maxPosts: experiment.maxJudgedPosts, context };
  const sequences = judging.hasDetector ? undefined : await askOwnModels(judging, asking);
  const policy = { definition, sources: { ...agent.sources, openDetector: judging.sources.openDetector } };
  const read = readWhole(threads, { policy, sequences });
  const { tested, systems } = await decideRead({ [agentName]: definition }, read, experiment);
  const resample = { seed, resamples: experiment.evaluation.resamples };
  return {
    systems: [...systems, ...decideByRules(experiment, tested)].map((system) =>
      scoreSystem(system, { ...aimOf(experiment), resample: isShown(system.name) ? resample : undefined }),
    ),
    threads: threads.length,
    seed,
  };
}
