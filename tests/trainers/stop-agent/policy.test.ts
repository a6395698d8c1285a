import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildStateTable, CONTINUE, stateRow } from '../../../envs/state-table.ts';
import { disposeOptimized, type Tensors } from '../../../src/tensor/adam.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import type { MlpName } from '../../../src/tensor/mlp.ts';
import { columnMoments } from '../../../src/tensor/normalizer.ts';
import { Random } from '../../../src/tensor/random.ts';
import { createPolicyValue } from '../../../trainers/ppo.ts';
import { greedyStop, stopProbabilities } from '../../../trainers/stop-agent/policy.ts';

beforeAll(() => selectBackend('wasm'));

describe('greedyStop', () => {
  it.each<[string, number[], number]>([
    ['the first post above one half', [0.2, 0.51, 0.1, 0.9], 1],
    ['not at one half itself', [0.5, 0.5, 0.6], 2],
    ['the last post where none is above', [0.1, 0.5, 0.2], 2],
    ['the only post', [0.1], 0],
  ])('stops at %s', (_, probabilities, step) => {
    expect(greedyStop(Float32Array.from(probabilities))).toBe(step);
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

  /** π(stop) after nothing but continues, on plain arrays. */
  function direct(parameters: Tensors<MlpName>, at: { member: number; thread: number; step: number }): number {
    const of = (name: MlpName) => {
      const [members, rows, columns] = parameters[name].shape;
      const size = rows * columns;
      expect(members).toBe(2);
      return { data: parameters[name].dataSync().slice(at.member * size, (at.member + 1) * size), columns };
    };
    const layer = (input: number[], w: MlpName, b: MlpName) => {
      const weights = of(w);
      return Array.from(of(b).data, (bias, column) =>
        input.reduce((sum, value, row) => sum + value * weights.data[row * weights.columns + column], bias),
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

  it.each([0, 1])('are a forward pass over the states that only continuing leads to, member %i', (member) => {
    const agent = createPolicyValue({
      inputs: dimensions,
      actions: 2,
      hidden,
      randoms: [5, 6].map((seed) => Random.seeded({ seed, purpose: 'weights' })),
    });
    // A fresh head says one half everywhere.
    const { w3 } = agent.parameters;
    agent.parameters.w3 = tf.mul(w3, 60);
    w3.dispose();
    const probabilities = stopProbabilities({ parameters: agent.parameters, moments, member }, table);
    expect(probabilities.map(({ length }) => length)).toEqual(lengths);
    const samples = lengths.flatMap((length, thread) =>
      Array.from({ length: Math.min(length, 40) }, (_, i) => ({ thread, step: Math.floor((i * length) / 40) })),
    );
    samples.push({ thread: 2, step: 4092 }, { thread: 2, step: 4093 }, { thread: 2, step: 4499 });
    const expected = samples.map(({ thread, step }) => direct(agent.parameters, { member, thread, step }));
    expect(Math.max(...expected) - Math.min(...expected)).toBeGreaterThan(0.2);
    for (const [i, { thread, step }] of samples.entries())
      expect(probabilities[thread][step]).toBeCloseTo(expected[i], 4);
    disposeOptimized(agent);
  });
});
