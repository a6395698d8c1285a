import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { queryRewards } from '../../envs/query-env.ts';
import { InputError } from '../../src/errors.ts';
import { columnMoments, standardized } from '../../src/tensor/normalizer.ts';
import { paddedCount } from '../../src/tensor/onnx/compiled.ts';
import { Random } from '../../src/tensor/random.ts';
import { createPolicyValue, disposePolicyValue } from '../policy-value.ts';
import { ADAM_EPSILON } from '../ppo.ts';
import {
  actionMask,
  climbQueryReturn,
  type PricedThread,
  returnAndWeights,
  scoreQueryActions,
} from '../query-return.ts';
import {
  checkMembers,
  momentsArrays,
  networkArrays,
  policyOfState,
  restoreMoments,
  restoreNetwork,
} from '../stop-agent/network-state.ts';
import { type Trainer, valuesOf } from '../trainer.ts';
import type { QueryAgentConfig } from './config.ts';
import type { QueryPolicy } from './policy.ts';
import { mdpOf, type QueryThread, queryStateSize, queryStates } from './states.ts';

/** Global norm that the gradient is clipped to, as that of the stop agent's exact return. */
const MAX_GRADIENT_NORM = 0.5;

const valuesSchema = z.strictObject({ iteration: z.int(), updates: z.int() });

/**
 * Gradient ascent on the expected return of an agent with several detectors (trainers/query-return.ts): exact, over all threads at
 * once. One member.
 * @param options.threads with labels; all of the same detectors
 * @throws InputError without threads, or for one without a label
 */
export function createQueryTrainer(options: {
  threads: readonly QueryThread[];
  labels: number;
  config: QueryAgentConfig;
  seed: number;
}): Trainer<QueryPolicy> {
  const { threads, labels, config, seed } = options;
  const priced = pricedThreads(threads, config);
  const { detectors, actions } = priced[0].mdp;
  const columns = queryStateSize({ detectors, labels });
  const rows = priced.reduce((sum, { mdp }) => sum + mdp.step.length, 0);
  const data = new Float32Array(rows * columns);
  let row = 0;
  for (const [index, { mdp }] of priced.entries()) {
    data.set(queryStates(threads[index], { mdp, labels }), row * columns);
    row += mdp.step.length;
  }
  const moments = columnMoments({ data, columns });
  // Rows behind the last thread weigh nothing.
  const padded = new Float32Array(paddedCount(rows) * columns);
  padded.set(standardized({ data, columns }, moments).data);
  const agent = createPolicyValue({
    inputs: columns,
    actions,
    hidden: config.hidden,
    hasCritic: false,
    randoms: [Random.seeded({ seed, purpose: 'query-agent weights' })],
  });
  const states = {
    observations: tf.tensor3d(padded, [1, paddedCount(rows), columns]),
    mask: actionMask(priced, paddedCount(rows)),
  };
  const { iterations } = config;
  let iteration = 0;

  const state = async () => {
    const [arrays] = await networkArrays(['agent'], agent);
    return { arrays: { ...arrays, ...momentsArrays(moments) }, values: { iteration, updates: agent.updates } };
  };

  return {
    algorithm: 'query-return',
    iterations,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const { logProbabilities } = scoreQueryActions({ parameters: agent.parameters, states });
      const logs = await logProbabilities.data<'float32'>();
      logProbabilities.dispose();
      const entropy = config.entropy * Math.max(0, 1 - (2 * iteration) / iterations);
      const { expectedReturn, weights } = returnAndWeights(priced, { logProbabilities: logs, entropy });
      await climbQueryReturn(agent, {
        batches: [() => ({ weights: tf.tensor3d(weights, [1, paddedCount(rows), actions]) })],
        shared: { states },
        adam: {
          learningRates: [config.learningRate * (1 - iteration / iterations)],
          epsilon: ADAM_EPSILON,
          maxGradientNorm: [MAX_GRADIENT_NORM],
        },
      });
      iteration++;
      return [{ 'task/expected_return': expectedReturn }];
    },
    policies: async () => [policyOfState(await state(), { actions })],
    state: async () => [await state()],
    restore(saved) {
      checkMembers(saved, [agent]);
      const [{ arrays }] = saved;
      const values = valuesOf(saved[0], valuesSchema);
      restoreNetwork(saved, { names: ['agent'], network: agent, updates: [values.updates] });
      restoreMoments(arrays, { moments }, moments.count);
      iteration = values.iteration;
    },
    dispose() {
      tf.dispose(Object.values(states));
      disposePolicyValue(agent);
    },
  };
}

/** @throws InputError without threads, or for one without a label */
function pricedThreads(threads: readonly QueryThread[], config: QueryAgentConfig): PricedThread[] {
  if (threads.length === 0)
    throw new InputError('an agent with several detectors learns from labelled threads, and there are none; give some');
  return threads.map((thread) => {
    const mdp = mdpOf(thread);
    return { mdp, rewards: queryRewards(mdp, pricesOf(thread, config)) };
  });
}

/** What the actions on a labelled thread bring. */
function pricesOf(thread: QueryThread, { target, delayCost }: QueryAgentConfig) {
  const { id, gold, judgements, lengths, posts } = thread;
  if (gold === null) throw new InputError(`thread ${id} has no label, and the agent learns from labelled threads`);
  return {
    worth: judgements.map((step) =>
      step.map((own) => {
        if (own === null) return Number.NaN;
        return target === 'right' || own.probabilities === null ? Number(own.label === gold) : own.probabilities[gold];
      }),
    ),
    cost: judgements.map((step) => step.map((own) => own?.cost ?? Number.NaN)),
    delay: lengths.map((length) => (delayCost * length) / posts),
  };
}
