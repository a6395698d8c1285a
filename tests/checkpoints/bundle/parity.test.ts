import { describe, expect, it } from 'vitest';
import { type LayerName, policyNetwork, stopProbabilitiesOf } from '../../../checkpoints/bundle/network.ts';
import { onnxModel } from '../../../checkpoints/bundle/onnx-model.ts';
import { checkParity, type ParityProbe } from '../../../checkpoints/bundle/parity.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { Random } from '../../../src/tensor/random.ts';
import { stopProbabilitiesOfStates } from '../../../trainers/stop-agent/policy.ts';
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

  it('standardises with one mean for all columns, too, and keeps digits where the variance is small', async () => {
    const scalar = { ...network, moments: { mean: Float64Array.of(0.3), variance: Float64Array.of(2) } };
    const narrow = {
      ...network,
      moments: { mean: new Float64Array(inputs).fill(100), variance: new Float64Array(inputs).fill(1e-8) },
    };
    const near = states.map((value) => 100 + value * 1e-4);
    for (const [of, own] of [[scalar, states] as const, [narrow, near] as const])
      await checkParity(onnxModel(of), [probe({ states: own, expected: stopProbabilitiesOf(of, own) })]);
  });

  it('projects raw states first where the agent sees components of posts', async () => {
    const { components, others } = { components: 2, others: 1 };
    const posts = {
      inputs: 5,
      components,
      weights: Float32Array.from({ length: 10 }, () => random.normal()),
      explained: 1,
    };
    const inner = randomNetwork({ inputs: components + others });
    const matrix = (name: LayerName, rows: number) => {
      const data = inner.layers[name];
      return { rows, columns: data.length / rows, data };
    };
    const { hidden } = inner;
    const whole = policyNetwork(
      {
        moments: inner.moments,
        parameters: {
          w1: matrix('w1', components + others),
          b1: matrix('b1', 1),
          w2: matrix('w2', hidden),
          b2: matrix('b2', 1),
          w3: matrix('w3', hidden),
          b3: matrix('b3', 1),
        },
      },
      posts,
    );
    expect(whole.inputs).toBe(6);
    const raw = Float32Array.from({ length: 40 * 6 }, () => random.normal());
    const rows = Array.from({ length: 40 }, (_, row) => [...raw.subarray(6 * row, 6 * row + 6)]);
    const along = (own: readonly number[], column: number) =>
      own.slice(0, 5).reduce((sum, value, input) => sum + value * posts.weights[2 * input + column], 0);
    const seen = Float32Array.from(rows.flatMap((own) => [along(own, 0), along(own, 1), own[5]]));
    const expected = stopProbabilitiesOf(inner, seen);
    for (const [row, probability] of stopProbabilitiesOf(whole, raw).entries())
      expect(probability).toBeCloseTo(expected[row], 5);
    const parity = await checkParity(onnxModel(whole), [probe({ states: raw, columns: 6, expected })]);
    expect(parity.largestDifference).toBeLessThan(1e-5);
  });

  it('is refused with the place of the first difference', async () => {
    const expected = stopProbabilitiesOf(network, states);
    expected[1025] += 3e-5;
    await expect(checkParity(onnxModel(network), [probe({ expected })])).rejects.toThrow(
      /differ at golden state 1025, in batches of 1: π\(stop\) is 0\.\d+ and 0\.\d+, more than 0\.00001 apart/,
    );
    expected[1025] = Number.NaN;
    await expect(checkParity(onnxModel(network), [probe({ expected })])).rejects.toThrow('golden state 1025');
  });

  it('must take the same side of one half on golden states', async () => {
    const even = randomNetwork({ inputs });
    even.layers.w3.fill(0);
    even.layers.b3.fill(0);
    const expected = new Float32Array(1030).fill(0.500001);
    const model = onnxModel(even);
    await expect(checkParity(model, [probe({ expected })])).rejects.toThrow(/the action is 0 and 1/);
    await expect(checkParity(model, [probe({ name: 'random', expected })])).resolves.toBeDefined();
  });
});

describe('the network that is exported', () => {
  it('decides as the policy of a checkpoint does', async () => {
    const hidden = 3;
    const draws = Random.seeded({ seed: 5, purpose: 'policy' });
    const matrix = (rows: number, columns: number) => ({
      rows,
      columns,
      data: Float32Array.from({ length: rows * columns }, () => draws.normal()),
    });
    const policy = {
      parameters: {
        w1: matrix(inputs, hidden),
        b1: matrix(1, hidden),
        w2: matrix(hidden, hidden),
        b2: matrix(1, hidden),
        w3: matrix(hidden, 2),
        b3: matrix(1, 2),
      },
      moments: { ...network.moments, count: 1 },
    };
    await selectBackend('wasm');
    const exported = policyNetwork(policy);
    const expected = await stopProbabilitiesOfStates(policy, { data: states, columns: inputs });
    const found = stopProbabilitiesOf(exported, states);
    for (const [row, probability] of expected.entries()) expect(found[row]).toBeCloseTo(probability, 5);
    await checkParity(onnxModel(exported), [probe({ expected })]);
  });
});
