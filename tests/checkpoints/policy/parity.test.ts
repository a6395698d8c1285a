import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { policyNetwork, stopProbabilitiesOf } from '../../../checkpoints/policy/network.ts';
import { onnxModel } from '../../../checkpoints/policy/onnx-model.ts';
import { checkParity, type ParityProbe } from '../../../checkpoints/policy/parity.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { standardized } from '../../../src/tensor/normalizer.ts';
import { Random } from '../../../src/tensor/random.ts';
import { policyForward } from '../../../trainers/policy-value.ts';
import { randomNetwork } from './small-bundle.ts';

const inputs = 4;
const network = randomNetwork({ inputs });
const random = Random.seeded({ seed: 3, purpose: 'states' });
const states = Float32Array.from({ length: 1030 * inputs }, () => 3 * random.normal());
const probe = (parts: Partial<ParityProbe> = {}): ParityProbe => ({
  name: 'golden',
  states,
  columns: inputs,
  expected: stopProbabilitiesOf(network, states),
  ...parts,
});

describe('the ONNX file of a policy', () => {
  it('decides as the plain arrays do, in batches of 1, 7 and 1024', async () => {
    const huge = Float32Array.from({ length: 8 * inputs }, (_, i) => [1e30, -1e30, 0, 3.4e38][i % 4]);
    const extreme = probe({ name: 'extreme', states: huge, expected: stopProbabilitiesOf(network, huge) });
    const parity = await checkParity(onnxModel(network), [probe(), extreme]);
    expect(parity.largestDifference).toBeLessThan(1e-6);
    expect(parity).toMatchObject({ batches: [1, 7, 1024], rows: { golden: 1030, extreme: 8 } });
  });

  it('keeps digits where the variance is small', async () => {
    const narrow = {
      ...network,
      moments: { mean: new Float64Array(inputs).fill(100), variance: new Float64Array(inputs).fill(1e-8) },
    };
    const near = states.map((value) => 100 + value * 1e-4);
    await checkParity(onnxModel(narrow), [probe({ states: near, expected: stopProbabilitiesOf(narrow, near) })]);
  });

  it('is refused with the place of the first difference', async () => {
    const expected = stopProbabilitiesOf(network, states);
    expected[1025] += 3e-5;
    await expect(checkParity(onnxModel(network), [probe({ expected })])).rejects.toThrow(
      /differ at golden state 1025, in batches of 1: the score is 0\.\d+ and 0\.\d+, more than 0\.00001 apart/,
    );
    expected[1025] = Number.NaN;
    await expect(checkParity(onnxModel(network), [probe({ expected })])).rejects.toThrow('golden state 1025');
  });

  it('passes the number of a rule on', async () => {
    const scores = Float32Array.from({ length: 20 }, (_, index) => index / 20);
    const parity = await checkParity(onnxModel(null), [probe({ states: scores, columns: 1, expected: scores })]);
    expect(parity.largestDifference).toBe(0);
  });
});

describe('the network that decides', () => {
  it('gives the numbers of the tensors that are trained', async () => {
    const hidden = 3;
    const draws = Random.seeded({ seed: 5, purpose: 'policy' });
    const matrix = (rows: number, columns: number) => ({
      rows,
      columns,
      data: Float32Array.from({ length: rows * columns }, () => draws.normal()),
    });
    const parameters = {
      w1: matrix(inputs, hidden),
      b1: matrix(1, hidden),
      w2: matrix(hidden, hidden),
      b2: matrix(1, hidden),
      w3: matrix(hidden, 2),
      b3: matrix(1, 2),
    };
    const policy = { parameters, moments: network.moments };
    await selectBackend('wasm');
    const exported = policyNetwork(policy);
    const { data } = standardized({ data: states, columns: inputs }, policy.moments);
    const observations = tf.tensor2d(data, [data.length / inputs, inputs]);
    const tensor = (name: keyof typeof parameters) => {
      const { rows, columns, data } = parameters[name];
      return tf.tensor2d(data, [rows, columns]);
    };
    const tensors = {
      ...{ w1: tensor('w1'), b1: tensor('b1'), w2: tensor('w2') },
      ...{ b2: tensor('b2'), w3: tensor('w3'), b3: tensor('b3') },
    };
    const logProbabilities = policyForward(tensors, observations, { actions: 2 });
    const ofStopping = logProbabilities.dataSync().filter((_, place) => place % 2 === 1);
    const expected = Float32Array.from(ofStopping, Math.exp);
    const found = stopProbabilitiesOf(exported, states);
    for (const [row, probability] of expected.entries()) expect(found[row]).toBeCloseTo(probability, 5);
    await checkParity(onnxModel(exported), [probe({ expected })]);
  });
});
