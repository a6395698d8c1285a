import { z } from 'zod';
import { climbReturn, disposeLabelled, labelledBatch } from '../exact-policy-gradient.ts';
import { ADAM_EPSILON } from '../ppo.ts';
import { type Trainer, valuesOf } from '../trainer.ts';
import { labelledRows } from './labelled-threads.ts';
import { learnerArrays, learnerPolicy, restoreNetwork } from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopAgentSettings } from './problem.ts';
import { createLearner, disposeLearner } from './setup.ts';

/** Global norm that the gradient is clipped to, as PPO's is unless told otherwise. */
const MAX_GRADIENT_NORM = 0.5;

const valuesSchema = z.strictObject({ iteration: z.int(), updates: z.int() });

/**
 * Gradient ascent on the task's own return (trainers/exact-policy-gradient.ts) as a trainer: no rollouts, no discriminator.
 * @throws InputError when there is no labelled thread
 */
export async function createExactPolicyGradient(settings: StopAgentSettings): Promise<Trainer<StopPolicy>> {
  // Before there is a network to dispose.
  const { rows, stopRewards } = labelledRows(settings);
  const learner = await createLearner(settings, { hasCritic: false });
  const { agent, states } = learner;
  const task = labelledBatch(states.takePadded(rows), { stopRewards, weight: 1 });
  const { iterations } = settings.config;
  const { updates, learningRate } = settings.config.task;
  let iteration = 0;

  return {
    algorithm: 'exact-policy-gradient',
    iterations,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const { outputs } = await climbReturn(agent, {
        count: updates,
        batches: {},
        shared: { task },
        adam: {
          learningRate: learningRate * (1 - iteration / iterations),
          epsilon: ADAM_EPSILON,
          maxGradientNorm: MAX_GRADIENT_NORM,
        },
      });
      iteration++;
      // Before the last update.
      return { 'task/expected_return': outputs.expected[updates - 1] };
    },
    policy: () => learnerPolicy(learner),
    state: async () => ({
      arrays: await learnerArrays(learner),
      values: { iteration, updates: agent.updates },
    }),
    restore(saved) {
      const values = valuesOf(saved, valuesSchema);
      restoreNetwork(saved, { network: agent, updates: values.updates });
      iteration = values.iteration;
    },
    dispose() {
      disposeLabelled(task);
      disposeLearner(learner);
    },
  };
}
