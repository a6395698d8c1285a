import { policyNetwork } from '../../checkpoints/policy/network.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { Metrics, Trainer } from '../../trainers/trainer.ts';
import { agentName } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { scoreSystem } from './metrics.ts';
import { halfway } from './policy-settings.ts';
import type { PreparedTrial } from './prepare.ts';
import { decideByPolicies, learntPolicy } from './states.ts';

type AfterIteration = (metrics: Metrics) => Promise<Metrics>;

/** How often a training is looked at, and on how many threads at most: looking must cost little beside training. */
const looks = 25;
const threadsLookedAt = 200;

/**
 * Tells whoever watches how the agent does: its macro-F1 and ER on the development part, or what its trainer
 * measures where there is none. Only reads the policy, so that a run is the same whether it is watched or not.
 */
export async function watchTraining(
  trainer: Trainer<StopPolicy>,
  { prepared, experiment }: { prepared: PreparedTrial; experiment: Experiment },
  { onMeasured }: WorkContext,
): Promise<AfterIteration> {
  if (onMeasured === null) return async (metrics) => metrics;
  const threads = prepared.parts.development.slice(0, threadsLookedAt);
  if (threads.length === 0)
    return async (metrics) => {
      onMeasured(ofTrainer(metrics));
      return metrics;
    };
  const { sequences, materials } = prepared;
  const every = Math.ceil(trainer.iterations / looks);
  return async (metrics) => {
    if (trainer.iteration % every !== 0) return metrics;
    const policy = await learntPolicy(policyNetwork(await trainer.policy()), { ...materials, threshold: halfway });
    const { systems } = await decideByPolicies({ [agentName]: policy }, threads, { ...materials, sequences });
    const { values } = scoreSystem(systems[0], taskOf(experiment));
    onMeasured({ 'macro-F1': values.macroF1 ?? 0, ER: values.er ?? 0 });
    return metrics;
  };
}

/** The metrics of a training without a development part that say most, by names that fit on a line. */
function ofTrainer(metrics: Metrics): Record<string, number> {
  const shown = [
    ['return', 'task/expected_return'],
    ['stop post', 'rollout/mean_stop_post'],
    ['entropy', 'ppo/entropy'],
  ] as const;
  return Object.fromEntries(
    shown.flatMap(([name, metric]) => (metrics[metric] === undefined ? [] : [[name, metrics[metric]]])).slice(0, 2),
  );
}
