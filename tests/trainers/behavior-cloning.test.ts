import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parametersOf } from '../../src/tensor/adam.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { Random } from '../../src/tensor/random.ts';
import { RowTable } from '../../src/tensor/row-table.ts';
import { cloneEpoch, pairsToCopy, type WeightedPairs } from '../../trainers/behavior-cloning.ts';
import { behaviorCloningSchema } from '../../trainers/config.ts';
import {
  createPolicyValue,
  disposePolicyValue,
  type PolicyValue,
  policyValueForward,
} from '../../trainers/policy-value.ts';
import { networkArrays } from '../../trainers/stop-agent/network-state.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

const inputs = 3;
const hidden = 6;
const count = 60;
const random = Random.seeded({ seed: 3, purpose: 'behavior cloning' });
const data = Float32Array.from({ length: count * inputs }, () => random.normal());
/** Stop where the first number is positive. */
const wanted = Uint8Array.from({ length: count }, (_, row) => Number(data[row * inputs] > 0));
const rows = Int32Array.from({ length: count }, (_, row) => row);
const ones = new Float32Array(count).fill(1);
const newAgent = () =>
  createPolicyValue({
    inputs,
    actions: 2,
    hidden,
    hasCritic: true,
    random: Random.seeded({ seed: 1, purpose: 'behavior cloning' }),
  });
const config = behaviorCloningSchema.parse({ epochs: 60, batchSize: 20, learningRate: 1e-2 });

let tensorsBefore = 0;
beforeEach(async () => {
  await selectBackend(testBackend());
  tensorsBefore = tf.memory().numTensors;
});
afterEach(() => expect(tf.memory().numTensors).toBe(tensorsBefore));

function stopProbabilitiesOf(agent: PolicyValue): Float32Array {
  const stop = tf.tidy(() => {
    const { logProbabilities } = policyValueForward(parametersOf(agent), tf.tensor2d(data, [count, inputs]));
    return tf.exp(tf.slice(logProbabilities, [0, 1], [count, 1]));
  });
  const values = stop.dataSync() as Float32Array;
  stop.dispose();
  return values;
}

/** Epochs of cloning; returns the loss of each. */
async function clone(agent: PolicyValue, pairs: WeightedPairs, epochs = config.epochs): Promise<number[]> {
  const states = new RowTable({ data, columns: inputs });
  const random = Random.seeded({ seed: 1, purpose: 'order' });
  const losses: number[] = [];
  try {
    for (let epoch = 0; epoch < epochs; epoch++)
      losses.push(await cloneEpoch(agent, pairs, { states, config, random }));
  } finally {
    states.dispose();
  }
  return losses;
}

describe('cloneEpoch', () => {
  it('learns a separable rule, and its loss falls from log 2', async () => {
    const agent = newAgent();
    expect(Math.max(...stopProbabilitiesOf(agent))).toBeLessThan(0.6);
    const losses = await clone(agent, { rows, actions: wanted, weights: ones });
    const right = stopProbabilitiesOf(agent).filter((probability, i) => Number(probability > 0.5) === wanted[i]);
    expect(right.length).toBeGreaterThan(0.97 * count);
    expect(losses[0]).toBeCloseTo(Math.log(2), 1);
    expect(losses[losses.length - 1]).toBeLessThan(0.2);
    disposePolicyValue(agent);
  });

  it('leaves the value half and what lies off the blocks untouched', async () => {
    const agent = newAgent();
    const read = async () => new Map(Object.entries(await networkArrays('agent', agent)));
    const before = await read();
    await clone(agent, { rows, actions: wanted, weights: ones });
    for (const [
      path,
      {
        shape: [height, width],
        data: after,
      },
    ] of await read()) {
      const [, part, name] = path.split('/');
      if (part !== 'parameters') continue;
      let moved = 0;
      for (let i = 0; i < after.length; i++) {
        const inPolicyColumns = i % width < (name === 'w3' || name === 'b3' ? 2 : hidden);
        const inPolicyRows = name === 'w1' || height === 1 || Math.floor(i / width) < hidden;
        if (inPolicyColumns && inPolicyRows) moved += Number(after[i] !== before.get(path)?.data[i]);
        else expect(after[i]).toBe(before.get(path)?.data[i]);
      }
      expect(moved).toBeGreaterThan(0);
    }
    disposePolicyValue(agent);
  });

  it('weighs contradicting pairs by their weights', async () => {
    const agent = newAgent();
    const pairs = { rows: new Int32Array(2), actions: Uint8Array.of(1, 0), weights: Float32Array.of(3, 1) };
    await clone(agent, pairs, 300);
    expect(stopProbabilitiesOf(agent)[0]).toBeCloseTo(0.75, 2);
    disposePolicyValue(agent);
  });

  it('says so where there is no pair to copy', async () => {
    const agent = newAgent();
    const pairs = { rows: new Int32Array(0), actions: new Uint8Array(0), weights: new Float32Array(0) };
    await expect(clone(agent, pairs)).rejects.toThrow(/nothing to copy/);
    disposePolicyValue(agent);
  });
});

describe('pairsToCopy', () => {
  it('weighs conservative pairs by α and early-action ones by β', () => {
    const pairs = pairsToCopy({
      conservative: { rows: Int32Array.of(1, 2), actions: Uint8Array.of(0, 1) },
      earlyAction: { rows: Int32Array.of(3), actions: Uint8Array.of(1) },
      weights: { alpha: 0.75, beta: 0.25 },
    });
    expect(pairs).toEqual({
      rows: Int32Array.of(1, 2, 3),
      actions: Uint8Array.of(0, 1, 1),
      weights: Float32Array.of(0.75, 0.75, 0.25),
    });
  });
});
