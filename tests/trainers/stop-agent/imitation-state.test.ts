import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CONTINUE, STOP } from '../../../envs/state-table.ts';
import { expertNames } from '../../../experts/trajectories.ts';
import { disposeOptimized } from '../../../src/tensor/adam.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { Random } from '../../../src/tensor/random.ts';
import { RowTables } from '../../../src/tensor/row-tables.ts';
import { createDiscriminator } from '../../../trainers/discriminator.ts';
import {
  type ExpertStream,
  expertWeights,
  type GailMember,
  gailOptions,
  gailRowWeights,
  updateDiscriminator,
} from '../../../trainers/gail.ts';
import {
  byMember,
  discriminatorMembers,
  memberHealth,
  memberRewards,
  perDiscriminator,
} from '../../../trainers/stop-agent/imitation-state.ts';
import { testBackend } from '../../src/tensor/test-backend.ts';

const stream = (...actions: number[]): ExpertStream => ({
  pairs: { rows: new Int32Array(actions.length), actions: Uint8Array.from(actions) },
  order: new Int32Array(0),
  position: 0,
});

/** One state. The agent continues three times of four there, the experts in half, none and three quarters of their pairs. */
function member(config: z.input<z.ZodObject<typeof gailOptions>>, seed = 1): GailMember {
  return {
    config: z.strictObject(gailOptions).parse({
      ...config,
      discriminator: { batchSize: 4, learningRate: 0.05, hidden: 8, penalty: 0, ...config.discriminator },
    }),
    random: Random.seeded({ seed, purpose: 'stop-agent training' }),
    experts: expertNames,
    streams: [
      stream(CONTINUE, STOP, CONTINUE, STOP),
      stream(CONTINUE, STOP, STOP, STOP),
      stream(CONTINUE, CONTINUE, CONTINUE, STOP),
    ],
  };
}

describe('a discriminator for each expert', () => {
  beforeAll(() => selectBackend(testBackend()));

  it('learns the log ratio of that expert to the agent, and the reward adds them with α, β and −γ', async () => {
    const members = [member({ objective: 'separate', alpha: 0.6, beta: 0.3, gamma: 0.1 })];
    const told = discriminatorMembers(members);
    expect(told.map(({ experts }) => experts)).toEqual([['conservative'], ['earlyAction'], ['misleading']]);
    const states = new RowTables([{ data: Float32Array.of(1), columns: 1 }]);
    const random = Random.seeded({ seed: 1, purpose: 'test draws' });
    const discriminator = createDiscriminator({ inputs: 1, hidden: 8, randoms: told.map(() => random) });
    // The agent's steps, and a batch that holds all of them and each expert's pairs once.
    const steps = { rows: new Int32Array(4), actions: Uint8Array.of(CONTINUE, CONTINUE, CONTINUE, STOP) };
    const rowWeights = gailRowWeights(told);
    const { health, logits } = await updateDiscriminator(discriminator, perDiscriminator(members, [steps]), {
      members: told,
      states,
      rowWeights,
      epochs: 200,
    });
    tf.dispose([rowWeights.labelsExpertIsOne, rowWeights.weights]);

    const expected = [
      [0.5, 0.5],
      [0.25, 0.75],
      [0.75, 0.25],
    ].map(([continuing, stopping]) => [Math.log(continuing / 0.75), Math.log(stopping / 0.25)]);
    for (const [set, values] of logits.entries())
      for (const [step, action] of steps.actions.entries()) expect(values[step]).toBeCloseTo(expected[set][action], 2);
    const [ofMember] = byMember(members, logits);
    const { rewards } = memberRewards(members[0], ofMember);
    // (0.6 c + 0.3 e − 0.1 m) / 0.8
    for (const [step, action] of steps.actions.entries()) {
      const [c, e, m] = expected.map((values) => values[action]);
      expect(rewards[step]).toBeCloseTo((0.6 * c + 0.3 * e - 0.1 * m) / 0.8, 2);
    }
    expect(memberHealth(health).saysExpert).toHaveLength(3);
    disposeOptimized(discriminator);
    states.dispose();
  });

  it('has the reward of the paper where that is asked for', () => {
    const logits = [Float32Array.of(1, -2), Float32Array.of(0, 3), Float32Array.of(2, 2)];
    const own = member({ objective: 'separate', alpha: 0.6, beta: 0.3, gamma: 0.1, reward: 'minus-log-d' });
    const minusLogD = (logit: number) => -Math.log(1 - 1 / (1 + Math.exp(-logit)));
    const { rewards } = memberRewards(own, logits);
    for (const step of [0, 1]) {
      const [c, e, m] = logits.map((values) => minusLogD(values[step]));
      expect(rewards[step]).toBeCloseTo((0.6 * c + 0.3 * e - 0.1 * m) / 0.8, 5);
    }
  });

  it('does not count where the member has no such demonstration', () => {
    const own = member({ objective: 'separate', alpha: 0.6, beta: 0.3, gamma: 0.1 });
    const lacking = { ...own, streams: [own.streams[0], own.streams[1], null] };
    expect(discriminatorMembers([lacking]).flatMap(expertWeights)).toEqual([
      { labelExpertIsOne: 1, weight: 1 },
      { labelExpertIsOne: 1, weight: 1 },
      { labelExpertIsOne: 1, weight: 0 },
    ]);
    const { logits } = memberRewards(lacking, [Float32Array.of(1), Float32Array.of(2), Float32Array.of(100)]);
    expect(logits[0]).toBeCloseTo((0.6 + 0.6) / 0.9, 5);
    const health = (agent: number, share: number | null, penalty: number) => ({ agent, saysExpert: [share], penalty });
    expect(memberHealth([health(0.5, 0.6, 2), health(0.7, 0.8, 3), health(1, null, 9)])).toEqual({
      agent: 0.6,
      saysExpert: [0.6, 0.8, null],
      penalty: 5,
    });
  });
});

describe('one discriminator for all experts', () => {
  it('is the member itself, and its logit the reward', () => {
    const members = [member({}), member({}, 2)];
    expect(discriminatorMembers(members)).toEqual(members);
    expect(perDiscriminator(members, ['a', 'b'])).toEqual(['a', 'b']);
    const logits = Float32Array.of(1, -2);
    expect(memberRewards(members[0], [logits])).toEqual({ logits, rewards: logits });
    const health = { agent: 0.3, saysExpert: [0.1, null], penalty: null };
    expect(memberHealth([health])).toEqual(health);
  });
});
