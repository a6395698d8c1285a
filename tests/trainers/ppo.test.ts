import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { parametersOf } from '../../src/tensor/adam.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { Random } from '../../src/tensor/random.ts';
import { createPolicyValue, policyValueForward } from '../../trainers/policy-value.ts';
import { clippedSurrogate, ppoLoss } from '../../trainers/ppo.ts';
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
