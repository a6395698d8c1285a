import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { buildStateTable, CONTINUE, stateRow } from '../../../envs/state-table.ts';
import { parametersOf } from '../../../src/tensor/adam.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { columnMoments } from '../../../src/tensor/normalizer.ts';
import type { MlpName } from '../../../src/tensor/operations.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createPolicyValue, disposePolicyValue, policyForward } from '../../../trainers/policy-value.ts';
import { learnerArrays, policyOfState } from '../../../trainers/stop-agent/network-state.ts';
import {
  decideStops,
  type PolicyMatrix,
  type StopPolicy,
  stopProbabilities,
} from '../../../trainers/stop-agent/policy.ts';
import { makeThread } from '../../src/data/fixtures.ts';
import { testBackend } from '../../src/tensor/test-backend.ts';

await selectBackend(testBackend());

describe('the policy in a state', () => {
  it('is the same with a critic beside it and without', async () => {
    const ofNetwork = async (hasCritic: boolean) => {
      const random = Random.seeded({ seed: 3, purpose: 'weights' });
      const agent = createPolicyValue({ inputs: 5, actions: 2, hidden: 4, hasCritic, random });
      const moments = { mean: new Float64Array(5), variance: new Float64Array(5).fill(1) };
      const arrays = await learnerArrays({ agent, moments });
      const output = tf.tidy(() => policyForward(parametersOf(agent), tf.ones([1, 5]), { actions: 2 }));
      const logs = await output.data();
      output.dispose();
      disposePolicyValue(agent);
      return { logs, policy: policyOfState({ arrays, values: {} }) };
    };
    const [alone, beside] = [await ofNetwork(false), await ofNetwork(true)];
    expect(alone.policy.parameters.w2).toMatchObject({ rows: 4, columns: 4 });
    expect(alone.policy.parameters.w3).toMatchObject({ rows: 4, columns: 2 });
    expect(beside.policy).toEqual(alone.policy);
    for (const [action, log] of beside.logs.entries()) expect(log).toBeCloseTo(alone.logs[action], 6);
  });
});

describe('stopProbabilities', () => {
  const random = Random.seeded({ seed: 1, purpose: 'stop policy' });
  const vector = (length: number) => Float32Array.from({ length }, () => random.normal());
  const dimensions = 3;
  const hidden = 4;
  // Over 4,096 prefixes, so that a chunk ends within a thread.
  const lengths = [2, 1, 4500, 3];
  const table = buildStateTable({
    threads: lengths.map((posts) => ({ posts, embeddings: vector(posts * dimensions) })),
    dimensions,
    actionEmbeddings: [vector(dimensions), vector(dimensions)],
  });
  const moments = columnMoments(table);

  const weights = createPolicyValue({
    inputs: dimensions,
    actions: 2,
    hidden,
    hasCritic: false,
    random: Random.seeded({ seed: 5, purpose: 'weights' }),
  });
  const matrixOf = (name: MlpName, factor = 1): PolicyMatrix => {
    const { [name]: matrix } = parametersOf(weights);
    const [rows, columns] = matrix.shape;
    const data = Float32Array.from(matrix.dataSync(), (value) => value * factor);
    return { rows, columns, data };
  };
  const policy: StopPolicy = {
    parameters: {
      w1: matrixOf('w1'),
      b1: matrixOf('b1'),
      w2: matrixOf('w2'),
      b2: matrixOf('b2'),
      // A fresh head says one half everywhere.
      w3: matrixOf('w3', 60),
      b3: matrixOf('b3'),
    },
    moments,
  };
  disposePolicyValue(weights);

  /** π(stop) after nothing but continues, on plain arrays. */
  function direct(at: { thread: number; step: number }): number {
    const layer = (input: number[], w: MlpName, b: MlpName) => {
      const { data, columns } = policy.parameters[w];
      return Array.from(policy.parameters[b].data, (bias, column) =>
        input.reduce((sum, value, row) => sum + value * data[row * columns + column], bias),
      );
    };
    const row = stateRow(table, { thread: at.thread, step: at.step, previous: CONTINUE });
    const state = Array.from(table.data.subarray(row * dimensions, (row + 1) * dimensions), (value, column) =>
      Math.max(-10, Math.min(10, (value - moments.mean[column]) / Math.sqrt(moments.variance[column]))),
    );
    const [logitContinue, logitStop] = layer(
      layer(layer(state, 'w1', 'b1').map(Math.tanh), 'w2', 'b2').map(Math.tanh),
      'w3',
      'b3',
    );
    return 1 / (1 + Math.exp(logitContinue - logitStop));
  }

  it('are a forward pass over the states that only continuing leads to', async () => {
    const before = tf.memory().numTensors;
    const probabilities = stopProbabilities(policy, table);
    expect(tf.memory().numTensors).toBe(before);
    expect(probabilities.map(({ length }) => length)).toEqual(lengths);
    const samples = lengths.flatMap((length, thread) =>
      Array.from({ length: Math.min(length, 40) }, (_, i) => ({ thread, step: Math.floor((i * length) / 40) })),
    );
    samples.push({ thread: 2, step: 4092 }, { thread: 2, step: 4093 }, { thread: 2, step: 4499 });
    const expected = samples.map(direct);
    expect(Math.max(...expected) - Math.min(...expected)).toBeGreaterThan(0.2);
    for (const [i, { thread, step }] of samples.entries())
      expect(probabilities[thread][step]).toBeCloseTo(expected[i], 4);
  });

  it('decide at the last post at the latest', async () => {
    const threads = lengths.map((posts, index) => makeThread(`t${index}`, { posts }));
    const { parameters } = policy;
    const b3 = { ...parameters.b3, data: Float32Array.of(5e3, -5e3) };
    const never = { ...policy, parameters: { ...parameters, b3 } };
    const stops = async (of: StopPolicy) =>
      (await decideStops(of, { threads, tableOf: async () => table })).map(({ stop }) => stop);
    expect((await stops(never)).map(({ postsUsed, why }) => [postsUsed, why])).toEqual(
      lengths.map((length) => [length, 'end']),
    );
    for (const [thread, { postsUsed, why }] of (await stops(policy)).entries()) {
      const first = stopProbabilities(policy, table)[thread].findIndex((probability) => probability > 0.5);
      expect([postsUsed, why]).toEqual(first < 0 ? [lengths[thread], 'end'] : [first + 1, 'threshold']);
    }
  });

  it('refuse states of another width', () => {
    const other = { ...table, columns: 1 };
    expect(() => stopProbabilities(policy, other)).toThrow(/reads states of 3 numbers, and these have 1/);
  });
});
