import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { climbReturns } from '../exact-policy-gradient.ts';
import { ADAM_EPSILON } from '../ppo.ts';
import { type Trainer, valuesOf } from '../trainer.ts';
import { labelledRows, labelledThreads } from './labelled-threads.ts';
import {
  checkMembers,
  learnerPolicies,
  momentsArrays,
  networkArrays,
  restoreNetwork,
  sameForAll,
} from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopMember } from './problem.ts';
import { createLearner, disposeLearner } from './setup.ts';

/** Global norm that the gradient is clipped to, as PPO's is unless told otherwise. */
const MAX_GRADIENT_NORM = 0.5;

const valuesSchema = z.strictObject({ iteration: z.int(), updates: z.int() });

/**
 * Gradient ascent on the task's own return (trainers/exact-policy-gradient.ts) as a trainer: no rollouts, no discriminator.
 * @throws InputError when a member has no labelled thread, or the members do not fit together
 */
export async function createExactPolicyGradient(members: readonly StopMember[]): Promise<Trainer<StopPolicy>> {
  // Before there is a network to dispose.
  members.forEach(labelledRows);
  const learner = await createLearner(members, { hasCritic: false });
  const { agent, states } = learner;
  const task = labelledThreads(members, { states, weights: members.map(() => 1) });
  const configs = members.map(({ config }) => config.task);
  const { iterations } = members[0].config;
  let iteration = 0;

  return {
    algorithm: 'exact-policy-gradient',
    iterations,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const remaining = 1 - iteration / iterations;
      const { seen } = await climbReturns(agent, {
        batches: Array.from({ length: configs[0].updates }, () => () => ({})),
        shared: { blockMasks: agent.blockMasks, task },
        adam: {
          learningRates: configs.map(({ learningRate }) => learningRate * remaining),
          epsilon: ADAM_EPSILON,
          maxGradientNorm: configs.map(() => MAX_GRADIENT_NORM),
        },
      });
      // Before the last update.
      const returns = await seen[seen.length - 1].returns.data();
      tf.dispose(seen.map((own) => own.returns));
      iteration++;
      return Array.from(returns, (value) => ({ 'task/expected_return': value }));
    },
    policies: () => learnerPolicies(learner),
    async state() {
      const arrays = await networkArrays(['agent'], agent);
      return learner.members.map(({ moments }, member) => ({
        arrays: { ...arrays[member], ...momentsArrays(moments) },
        values: { iteration, updates: agent.updates },
      }));
    },
    restore(states) {
      checkMembers(states, members);
      const values = states.map((state) => valuesOf(state, valuesSchema));
      restoreNetwork(states, { names: ['agent'], network: agent, updates: values.map(({ updates }) => updates) });
      iteration = sameForAll(
        values.map((own) => own.iteration),
        'iterations',
      );
    },
    dispose() {
      tf.dispose(task);
      disposeLearner(learner);
    },
  };
}
