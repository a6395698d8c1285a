import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { parametersOf } from '../../src/tensor/adam.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { gradientsOf } from '../../src/tensor/gradients.ts';
import { Random } from '../../src/tensor/random.ts';
import { RowTable } from '../../src/tensor/row-table.ts';
import { ppoSchema } from '../../trainers/config.ts';
import { createPolicyValue, disposePolicyValue, policyValueForward } from '../../trainers/policy-value.ts';
import { clippedSurrogate, clippedValueLoss, ppoLoss, ppoUpdate } from '../../trainers/ppo.ts';
import { networkArrays } from '../../trainers/stop-agent/network-state.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(() => selectBackend(testBackend('cpu')));

const column = (...values: number[]) => tf.tensor2d(values, [values.length, 1]);

describe('EARD’s Eq. 5 at ε = 0.1', () => {
  it.each([
    ['a likelier good action earns no more than 1 + ε', 1.5, 2, 2.2],
    ['a less likely good action loses', 0.5, 2, 1],
    ['a likelier bad action loses without a limit', 1.5, -2, -3],
    ['a less likely bad action earns no more than 1 − ε', 0.5, -2, -1.8],
    ['inside the range, nothing is clipped', 1.05, 2, 2.1],
  ])('%s', (_, ratio, advantage, expected) => {
    const surrogate = clippedSurrogate(column(Math.log(ratio)), column(advantage), column(0.1));
    expect(surrogate.dataSync()[0]).toBeCloseTo(expected, 6);
  });
});

describe('EARD’s Eq. 6', () => {
  const returns = [2, -1, 0.5];

  // Tensors belong to the backend that `beforeAll` starts, so none is made before.
  let parameters: Parameters<typeof ppoLoss>[0];
  let observations: tf.Tensor2D;
  beforeAll(() => {
    const random = Random.seeded({ seed: 1, purpose: 'ppo' });
    parameters = parametersOf(createPolicyValue({ inputs: 2, actions: 2, hidden: 3, hasCritic: true, random }));
    observations = tf.tensor2d([1, 2, -1, 0.5, 0, 3], [3, 2]);
  });

  function valueLoss({ oldValues, valueClip }: { oldValues: readonly number[]; valueClip: number }): number {
    const zeros = column(0, 0, 0);
    const oneHotActions = tf.tensor2d([1, 0, 1, 0, 1, 0], [3, 2]);
    const batch = {
      observations,
      oneHotActions,
      oldLogProbabilities: zeros,
      advantages: zeros,
      policyWeights: zeros,
    };
    const coefficients = { clip: column(0.1), entropy: column(0), value: column(1), valueClip: column(valueClip) };
    return ppoLoss(
      parameters,
      { ...batch, oldValues: column(...oldValues), returns: column(...returns) },
      coefficients,
    ).dataSync()[0];
  }

  const values = () => Array.from(policyValueForward(parameters, observations).values.dataSync());
  const halfMean = (errors: readonly number[]) => errors.reduce((sum, error) => sum + error, 0) / (2 * errors.length);

  it('is the mean squared error, halved, where the change of the value is free', () => {
    const expected = halfMean(values().map((value, row) => (value - returns[row]) ** 2));
    expect(valueLoss({ oldValues: [9, 9, 9], valueClip: 1e30 })).toBeCloseTo(expected, 5);
  });

  it('takes the larger error of the value and of the clipped one otherwise', () => {
    const expected = halfMean(
      // The old values are 9, so the clipped ones are 9 − 0.1.
      values().map((value, row) => Math.max((value - returns[row]) ** 2, (9 - 0.1 - returns[row]) ** 2)),
    );
    expect(valueLoss({ oldValues: [9, 9, 9], valueClip: 0.1 })).toBeCloseTo(expected, 4);
  });
});

it('has the gradient of the squared error for every value that is in the range, however it rounds', () => {
  const random = Random.seeded({ seed: 3, purpose: 'ppo' });
  const rows = 1000;
  const draw = () => column(...Array.from({ length: rows }, () => random.normal()));
  const [oldValues, returns] = [draw(), draw()];
  const changes = column(...Array.from({ length: rows }, () => 0.18 * random.uniform() - 0.09));
  const values = tf.add<tf.Tensor2D>(oldValues, changes);
  const { gradients } = gradientsOf({ values }, ({ values }) => ({
    loss: clippedValueLoss(values, { oldValues, returns }, column(0.1)),
    outputs: {},
  }));
  expect(gradients.values.dataSync()).toEqual(tf.sub(values, returns).dataSync());
});

it('keeps policy and value apart: every weight on the blocks moves, and those off them stay zero', async () => {
  const [hidden, steps] = [6, 20];
  const random = Random.seeded({ seed: 2, purpose: 'ppo' });
  const agent = createPolicyValue({ inputs: 3, actions: 2, hidden, hasCritic: true, random });
  const states = new RowTable({ data: Float32Array.from({ length: steps * 3 }, () => random.normal()), columns: 3 });
  const drawn = () => Float32Array.from({ length: steps }, () => random.normal());
  const before = await networkArrays('agent', agent);
  await ppoUpdate(
    agent,
    {
      rows: Int32Array.from({ length: steps }, (_, step) => step),
      actions: Uint8Array.from({ length: steps }, () => random.integer(2)),
      chosen: new Uint8Array(steps).fill(1),
      logProbabilities: new Float32Array(steps).fill(Math.log(0.5)),
      values: drawn(),
      advantages: drawn(),
      returns: drawn(),
    },
    { config: ppoSchema.parse({ clip: 10 }), states, random, remaining: 1, task: null },
  );
  const after = await networkArrays('agent', agent);
  for (const [name, ofPolicy] of [
    ['w2', hidden],
    ['w3', 2],
  ] as const) {
    const {
      shape: [, width],
      data,
    } = after[`agent/parameters/${name}`];
    for (const [place, weight] of data.entries()) {
      const isOnBlock = Math.floor(place / width) < hidden === place % width < ofPolicy;
      if (isOnBlock) expect(weight).not.toBe(before[`agent/parameters/${name}`].data[place]);
      else expect(Math.abs(weight)).toBe(0);
    }
  }
  states.dispose();
  disposePolicyValue(agent);
});
