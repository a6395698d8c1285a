import { z } from 'zod';
import { Random } from '../../src/tensor/random.ts';
import { RowTables } from '../../src/tensor/row-tables.ts';
import { cloneEpoch } from '../behavior-cloning.ts';
import { disposePolicyValue } from '../policy-value.ts';
import { type Metrics, type Trainer, valuesOf } from '../trainer.ts';
import {
  checkMembers,
  momentsArrays,
  networkArrays,
  policyOfState,
  restoreNetwork,
  sameForAll,
} from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopMember } from './problem.ts';
import { settledPairs } from './settled-pairs.ts';
import { createMember, guidance } from './setup.ts';

const pairsOf = { 'behavior-cloning': guidance, settled: settledPairs };

const valuesSchema = z.strictObject({ iteration: z.int(), updates: z.int(), random: z.array(z.int()) });

/**
 * Behaviour cloning as a trainer, and `settled`, which differs in the pairs; one iteration is one pass over them. Members have
 * different numbers of pairs, so each has a network of its own.
 * @throws InputError when a member has nothing to copy
 */
export function createCloning(members: readonly StopMember[]): Trainer<StopPolicy> {
  const algorithm = members[0].config.algorithm === 'settled' ? 'settled' : 'behavior-cloning';
  // First of all, because only this may be refused.
  const pairs = members.map((member) => pairsOf[algorithm](member));
  const cloning = members.map((member, index) => {
    const created = createMember(member, { hasCritic: false });
    return { ...created, states: new RowTables([created.states]), pairs: pairs[index] };
  });
  const { epochs } = members[0].config.behaviorCloning;
  let iteration = 0;

  async function state() {
    return Promise.all(
      cloning.map(async ({ network, moments, weightRandom }) => ({
        arrays: { ...(await networkArrays(['agent'], network))[0], ...momentsArrays(moments) },
        values: { iteration, updates: network.updates, random: weightRandom.state() },
      })),
    );
  }

  return {
    algorithm,
    iterations: epochs,
    get iteration() {
      return iteration;
    },
    async iterate() {
      const metrics: Metrics[] = [];
      for (const { network, pairs: own, states, config, weightRandom } of cloning) {
        const loss = await cloneEpoch(network, own, { states, config: config.behaviorCloning, random: weightRandom });
        metrics.push({ 'cloning/loss': loss });
      }
      iteration++;
      return metrics;
    },
    async policies() {
      return (await state()).map((own) => policyOfState(own));
    },
    state,
    restore(saved) {
      checkMembers(saved, members);
      const values = saved.map((own) => valuesOf(own, valuesSchema));
      for (const [index, member] of cloning.entries()) {
        const { updates, random } = values[index];
        restoreNetwork([saved[index]], { names: ['agent'], network: member.network, updates: [updates] });
        member.weightRandom = Random.fromState(random);
      }
      iteration = sameForAll(
        values.map((own) => own.iteration),
        'iterations',
      );
    },
    dispose() {
      for (const { network, states } of cloning) {
        disposePolicyValue(network);
        states.dispose();
      }
    },
  };
}
