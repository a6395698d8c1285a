import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { policyNetwork } from '../../checkpoints/policy/network.ts';
import type { PolicyDefinition } from '../../checkpoints/policy/policy.ts';
import { isFairTest } from '../../src/data/thread.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import { valuesOf } from '../run/metric.ts';
import {
  type CalibrationThread,
  GuaranteeNotShown,
  guaranteeFor,
  guaranteeOnAverage,
  keptOnAverage,
  thresholds,
} from './calibrate.ts';
import { agentName, type Decision, decide, replayed, stopByScores, type TestThread } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { stopColumns } from './metrics.ts';
import { guaranteeFile, keepThreshold, unshownGuaranteeFile } from './operating-point.ts';
import { agentQueries, halfway, limitsOf } from './policy-settings.ts';
import type { BegunTrial } from './prepare.ts';
import { aimOf, worth } from './recommendation.ts';
import { scoredThread } from './scored-thread.ts';
import { decideByPolicies, learntPolicy, seenPosts } from './states.ts';

type Trained = Pick<BegunTrial, 'prepared' | 'experiment' | 'run' | 'heldOutScores'>;

/**
 * Chooses and keeps where a trained agent stops: by a guarantee where one is wanted and can be shown; a settled agent otherwise where it
 * is worth most on threads that were set aside for it, or judged by cross-fitting; any other where stopping is likelier than not.
 */
export async function chooseThreshold(agent: StopPolicy, trained: Trained): Promise<void> {
  const { experiment, prepared, run, heldOutScores } = trained;
  const { guarantee, crossFitting } = experiment;
  const { parts, sequences, materials } = prepared;
  const { calibration, development, demonstrations } = parts;
  const policy = await learntPolicy(policyNetwork(agent), { ...materials, threshold: halfway });
  if (guarantee !== null && (calibration.length > 0 || crossFitting !== null))
    try {
      const shown = await shownGuarantee(policy, trained, guarantee);
      guaranteeFile.write(run, shown);
      return keepThreshold(run, shown);
    } catch (error) {
      // A training is worth its report without a guarantee, too.
      if (!(error instanceof GuaranteeNotShown)) throw error;
      unshownGuaranteeFile.write(run, { reason: error.message, remedy: error.remedy });
    }
  if (experiment.agent.algorithm !== 'settled') return;
  const judged = (crossFitting === null ? development : demonstrations).filter(isFairTest);
  if (judged.length === 0) return;
  // One training of a settled agent serves every threshold.
  const { tested, scores } = await decideByPolicies({ [agentName]: policy }, judged, { ...materials, sequences });
  const scored = tested.map((thread, index) => ({
    thread,
    scores: heldOutScores?.get(thread.threadId) ?? [...scores[index]],
  }));
  keepThreshold(run, { threshold: bestThreshold(scored, { experiment, policy }) });
}

/**
 * The guarantee on the calibration part. Without one, that on average on the labelled threads, whose judgements are those of detectors that
 * have not seen them.
 * @throws GuaranteeNotShown
 */
async function shownGuarantee(
  definition: PolicyDefinition,
  { prepared, experiment, heldOutScores }: Trained,
  options: NonNullable<Experiment['guarantee']>,
): Promise<Guarantee> {
  const { parts, sequences, materials } = prepared;
  const calibrates = parts.calibration.length > 0;
  if (!calibrates && options.loss !== 'disagreement')
    throw new GuaranteeNotShown(
      `guarantee.loss ${options.loss} is shown by threads without labels that nothing learns from, and there are too few`,
      'Give more threads without labels',
    );
  const { limits, task, fields } = definition;
  const scored: CalibrationThread[] = [];
  for (const thread of calibrates ? parts.calibration : parts.demonstrations.filter(isFairTest)) {
    const inputs = await seenPosts(thread, { ...materials, sequence: sequences.get(thread.id), fields });
    const scores = calibrates ? undefined : heldOutScores?.get(thread.id);
    scored.push({ ...scoredThread(thread, { definition, inputs, scores }), gold: null });
  }
  const target = { ...options, limits, alerts: task.alerts };
  if (!calibrates) return guaranteeOnAverage(scored, target);
  const threads = experiment.crossFitting === null ? 'Raise split.calibration' : 'Give more threads without labels';
  return guaranteeFor(scored, { ...target, remedies: { threads, level: 'guarantee.level:' } });
}

/** A labelled thread with its judgements, and with the scores of an agent at every post. */
export interface ScoredTestThread {
  readonly thread: TestThread;
  readonly scores: readonly number[];
}

/** Of the thresholds that are worth most on these threads, the most careful. */
function bestThreshold(
  threads: readonly ScoredTestThread[],
  { experiment, policy }: { experiment: Experiment; policy: Pick<PolicyDefinition, 'limits' | 'queries'> },
): number {
  const task = taskOf(experiment);
  const aim = aimOf(experiment);
  const { metrics, of } = worth(aim);
  const tested = threads.map(({ thread }) => thread);
  let best = { threshold: halfway, worth: Number.NEGATIVE_INFINITY };
  for (const threshold of thresholds) {
    const stops = threads.map(({ thread, scores }) => stopByScores(thread, scores, { ...policy, task, threshold }));
    const { decisions } = decide(agentName, tested, stops, policy.queries);
    const value = of(valuesOf(metrics, stopColumns(decisions, aim)));
    if (value > best.worth) best = { threshold, worth: value };
  }
  return best.threshold;
}

/**
 * Decisions of settled agents in folds without calibration threads. The threshold of a fold is chosen on the other folds, by scores of
 * agents that have not seen the threads: an agent is too sure of its training threads and would stop too early.
 * @param folds the tested threads of each fold, scored by its agent
 */
export function decideByOtherFolds(
  folds: readonly (readonly ScoredTestThread[])[],
  experiment: Experiment,
): { threshold: number; decisions: readonly Decision[] }[] {
  const { guarantee } = experiment;
  const task = taskOf(experiment);
  const policy = { limits: limitsOf(experiment), queries: agentQueries(experiment) };
  return folds.map((fold) => {
    const others = folds.filter((other) => other !== fold).flat();
    const target = guarantee?.loss === 'disagreement' ? { ...guarantee, ...policy, alerts: task.alerts } : null;
    const calibration =
      target &&
      keptOnAverage(
        others.map(({ thread, scores }) => replayed(thread, scores, task)),
        target,
      );
    const threshold = calibration?.threshold ?? bestThreshold(others, { experiment, policy });
    const stops = fold.map(({ thread, scores }) => stopByScores(thread, scores, { ...policy, task, threshold }));
    const tested = fold.map(({ thread }) => thread);
    return { threshold, decisions: decide(agentName, tested, stops, policy.queries).decisions };
  });
}
