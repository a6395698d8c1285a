import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { disposeOptimized, namesOf } from '../../src/tensor/adam.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { Random } from '../../src/tensor/random.ts';
import { RowTable } from '../../src/tensor/row-table.ts';
import { behaviorCloningSchema, cloneBehavior } from '../../trainers/behavior-cloning.ts';
import { createPolicyValue, type PolicyValue, policyValueForward } from '../../trainers/ppo.ts';

const inputs = 3;
const hidden = 6;
const count = 60;
const random = Random.seeded({ seed: 3, purpose: 'behavior cloning' });
const data = Float32Array.from({ length: count * inputs }, () => random.normal());
/** Stop where the first number is positive. */
const wanted = Uint8Array.from({ length: count }, (_, row) => Number(data[row * inputs] > 0));
const rows = Int32Array.from({ length: count }, (_, row) => row);
const ones = new Float32Array(count).fill(1);
const randoms = (seeds: number[]) => seeds.map((seed) => Random.seeded({ seed, purpose: 'behavior cloning' }));
const newAgent = (seeds: number[]) => createPolicyValue({ inputs, actions: 2, hidden, randoms: randoms(seeds) });
const config = behaviorCloningSchema.parse({ epochs: 60, batchSize: 20, learningRate: 1e-2 });

beforeAll(() => selectBackend('wasm'));
afterEach(() => expect(tf.memory().numTensors).toBe(0));

function stopProbabilitiesOf(agent: PolicyValue): Float32Array {
  const members = agent.parameters.w1.shape[0];
  const stop = tf.tidy(() => {
    const observations = tf.tensor3d(
      Float32Array.from({ length: members * data.length }, (_, i) => data[i % data.length]),
      [members, count, inputs],
    );
    const { logProbabilities } = policyValueForward(agent.parameters, observations);
    return tf.exp(tf.slice(logProbabilities, [0, 0, 1], [members, count, 1]));
  });
  const values = stop.dataSync() as Float32Array;
  stop.dispose();
  return values;
}

describe('cloneBehavior', () => {
  it('learns a separable rule, every member of a population', () => {
    const agent = newAgent([1, 2]);
    const observations = new RowTable({ data, columns: inputs });
    const before = stopProbabilitiesOf(agent);
    expect(Math.max(...before)).toBeLessThan(0.6);
    cloneBehavior(agent, { rows, actions: wanted, weights: ones }, { observations, config, randoms: randoms([1, 2]) });
    const after = stopProbabilitiesOf(agent);
    const right = after.filter((probability, i) => Number(probability > 0.5) === wanted[i % count]);
    expect(right.length).toBeGreaterThan(0.97 * 2 * count);
    expect(Array.from(after.subarray(0, count))).not.toEqual(Array.from(after.subarray(count)));
    disposeOptimized(agent);
  });

  it('leaves the value half and what lies off the blocks untouched', () => {
    const agent = newAgent([1]);
    const before = new Map(namesOf(agent.parameters).map((name) => [name, agent.parameters[name].dataSync().slice()]));
    const observations = new RowTable({ data, columns: inputs });
    cloneBehavior(agent, { rows, actions: wanted, weights: ones }, { observations, config, randoms: randoms([1]) });
    for (const name of namesOf(agent.parameters)) {
      const [, height, width] = agent.parameters[name].shape;
      const after = agent.parameters[name].dataSync();
      let moved = 0;
      for (let i = 0; i < after.length; i++) {
        const inPolicyColumns = i % width < (name === 'w3' || name === 'b3' ? 2 : hidden);
        const inPolicyRows = name === 'w1' || height === 1 || Math.floor(i / width) < hidden;
        if (inPolicyColumns && inPolicyRows) moved += Number(after[i] !== before.get(name)?.[i]);
        else expect(after[i]).toBe(before.get(name)?.[i]);
      }
      expect(moved).toBeGreaterThan(0);
    }
    disposeOptimized(agent);
  });

  it('weighs contradicting pairs by their weights', () => {
    const agent = newAgent([1]);
    const observations = new RowTable({ data, columns: inputs });
    const pairs = {
      rows: new Int32Array(2),
      actions: Uint8Array.of(1, 0),
      weights: Float32Array.of(3, 1),
    };
    cloneBehavior(agent, pairs, { observations, config: { ...config, epochs: 300 }, randoms: randoms([1]) });
    expect(stopProbabilitiesOf(agent)[0]).toBeCloseTo(0.75, 2);
    disposeOptimized(agent);
  });

  it('says so where there is no pair to copy', () => {
    const agent = newAgent([1]);
    const observations = new RowTable({ data, columns: inputs });
    const pairs = { rows: new Int32Array(0), actions: new Uint8Array(0), weights: new Float32Array(0) };
    expect(() => cloneBehavior(agent, pairs, { observations, config, randoms: randoms([1]) })).toThrow(
      /nothing to copy/,
    );
    disposeOptimized(agent);
  });

  it("leaves a fresh optimiser behind: the next trainer's Adam starts from nothing", () => {
    const agent = newAgent([1]);
    const observations = new RowTable({ data, columns: inputs });
    cloneBehavior(agent, { rows, actions: wanted, weights: ones }, { observations, config, randoms: randoms([1]) });
    expect(agent.updates).toBe(0);
    for (const moments of [agent.firstMoments, agent.secondMoments])
      for (const name of namesOf(moments)) expect(moments[name].dataSync().every((value) => value === 0)).toBe(true);
    disposeOptimized(agent);
  });
});
