import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CONTINUE, STOP } from '../../envs/state-table.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { Random } from '../../src/tensor/random.ts';
import { RowTable } from '../../src/tensor/row-table.ts';
import { gailOptions } from '../../trainers/config.ts';
import {
  createDiscriminators,
  disposeDiscriminator,
  drawPairs,
  type Pairs,
  updateDiscriminators,
} from '../../trainers/discriminator.ts';
import { discriminatorTasks } from '../../trainers/expert-weights.ts';
import { weightedSum } from '../../trainers/gail.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(() => selectBackend(testBackend()));

const pairs = (...actions: number[]): Pairs => ({
  rows: new Int32Array(actions.length),
  actions: Uint8Array.from(actions),
});

/** One state. The agent continues three times of four there, the experts in half, none and three quarters of their pairs. */
const agentSteps = pairs(CONTINUE, CONTINUE, CONTINUE, STOP);
const demonstrated = {
  conservative: pairs(CONTINUE, STOP, CONTINUE, STOP),
  earlyAction: pairs(CONTINUE, STOP, STOP, STOP),
  misleading: pairs(CONTINUE, CONTINUE, CONTINUE, STOP),
};

/** Trains discriminators of these pairs; a batch holds all of the agent's steps and of each expert's pairs once. */
async function trained(pairsOf: typeof demonstrated, epochs: number) {
  const gail = z.strictObject(gailOptions).parse({
    ...{ objective: 'separate', alpha: 0.6, beta: 0.3, gamma: 0.1 },
    discriminator: { batchSize: 4, learningRate: 0.05, hidden: 8, penalty: 0 },
  });
  const config = gail.discriminator;
  const random = Random.seeded({ seed: 1, purpose: 'test draws' });
  const states = new RowTable({ data: Float32Array.of(1), columns: 1 });
  const before = tf.memory().numTensors;
  const discriminators = createDiscriminators(discriminatorTasks(gail, pairsOf), { inputs: 1, config, random });
  const outcomes = await updateDiscriminators(discriminators, agentSteps, { states, config, epochs, random });
  discriminators.forEach(disposeDiscriminator);
  expect(tf.memory().numTensors).toBe(before);
  states.dispose();
  return outcomes;
}

describe('a discriminator for each expert', () => {
  it('learns the log ratio of that expert to the agent, and the reward adds them with α, β and −γ', async () => {
    const outcomes = await trained(demonstrated, 200);
    const expected = [
      [0.5, 0.5],
      [0.25, 0.75],
      [0.75, 0.25],
    ].map(([continuing, stopping]) => [Math.log(continuing / 0.75), Math.log(stopping / 0.25)]);
    const rewards = weightedSum(outcomes, ({ logits }) => logits);
    for (const [step, action] of agentSteps.actions.entries()) {
      for (const [set, { logits }] of outcomes.entries()) expect(logits[step]).toBeCloseTo(expected[set][action], 2);
      // (0.6 c + 0.3 e − 0.1 m) / 0.8
      const [c, e, m] = expected.map((values) => values[action]);
      expect(rewards[step]).toBeCloseTo((0.6 * c + 0.3 * e - 0.1 * m) / 0.8, 2);
    }
    expect(outcomes.flatMap(({ health }) => health.saysExpert.map(({ name }) => name))).toEqual([
      'conservative',
      'earlyAction',
      'misleading',
    ]);
  });

  it('learns the same from its own expert where another has no demonstrations', async () => {
    const [conservative] = await trained(demonstrated, 1);
    const [alone, ...others] = await trained({ ...demonstrated, misleading: pairs() }, 1);
    expect(others).toHaveLength(1);
    // From the same initial weights; what is drawn afterwards is other.
    for (const [step, logit] of alone.logits.entries()) expect(logit).toBeCloseTo(conservative.logits[step], 1);
  });
});

describe('the pairs of an expert', () => {
  it('come in passes, each once in a pass', () => {
    const of: Pairs = { rows: Int32Array.of(0, 10, 20, 30, 40, 50), actions: Uint8Array.of(0, 1, 0, 1, 0, 1) };
    const expert = { pairs: of, order: new Int32Array(0), position: 0 };
    const random = Random.seeded({ seed: 1, purpose: 'test draws' });
    const [rows, actions] = [new Int32Array(12), new Float32Array(12)];
    const drawn = { rows, actions, pairs: 0 };
    for (let draw = 0; draw < 3; draw++) drawPairs(drawn, expert, { count: 4, random });
    for (const pass of [rows.slice(0, 6), rows.slice(6)]) expect([...pass].sort((a, b) => a - b)).toEqual([...of.rows]);
    for (const [place, row] of rows.entries()) expect(actions[place]).toBe((row / 10) % 2);
  });
});
