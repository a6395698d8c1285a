import { z } from 'zod';
import { Random } from '../../src/tensor/random.ts';
import { cloneEpoch } from '../behavior-cloning.ts';
import { type Trainer, valuesOf } from '../trainer.ts';
import { learnerArrays, learnerPolicy, restoreNetwork } from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopAgentSettings } from './problem.ts';
import { settledPairs } from './settled-pairs.ts';
import { createLearner, disposeLearner, guidance } from './setup.ts';

const pairsOf = { 'behavior-cloning': guidance, settled: settledPairs };

const valuesSchema = z.strictObject({ iteration: z.int(), updates: z.int(), random: z.array(z.int()) });

/**
 * Behaviour cloning as a trainer, and `settled`, which differs in the pairs; one iteration is one pass over them.
 * @throws InputError when a settled agent has no judged thread
 */
export async function createCloning(settings: StopAgentSettings): Promise<Trainer<StopPolicy>> {
  const algorithm = settings.config.algorithm === 'settled' ? 'settled' : 'behavior-cloning';
  // Before there is a network to dispose.
  const pairs = pairsOf[algorithm](settings);
  const learner = await createLearner(settings, { hasCritic: false });
  const { agent, states } = learner;
  const config = settings.config.behaviorCloning;
  let iteration = 0;

  return {
    algorithm,
    iterations: config.epochs,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const loss = await cloneEpoch(agent, pairs, { states, config, random: learner.weightRandom });
      iteration++;
      return { 'cloning/loss': loss };
    },
    policy: () => learnerPolicy(learner),
    state: async () => ({
      arrays: await learnerArrays(learner),
      values: { iteration, updates: agent.updates, random: learner.weightRandom.state() },
    }),
    restore(saved) {
      const { updates, random, ...values } = valuesOf(saved, valuesSchema);
      restoreNetwork(saved, { network: agent, updates });
      learner.weightRandom = Random.fromState(random);
      iteration = values.iteration;
    },
    dispose: () => disposeLearner(learner),
  };
}
