import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ExpertName, expertNames as experts } from '../../experts/trajectories.ts';
import { parametersOf } from '../../src/tensor/adam.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { gradientsOf } from '../../src/tensor/gradients.ts';
import { layer, namesOf, single, type Tensors, upperForward } from '../../src/tensor/operations.ts';
import { Random } from '../../src/tensor/random.ts';
import { gailOptions } from '../../trainers/config.ts';
import { createDiscriminators, gailLoss } from '../../trainers/discriminator.ts';
import { discriminatorTasks } from '../../trainers/expert-weights.ts';
import { createPolicyValue } from '../../trainers/policy-value.ts';
import { ppoLoss } from '../../trainers/ppo.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(() => selectBackend(testBackend('cpu')));

const newRandom = () => Random.seeded({ seed: 0, purpose: 'gradients' });

function normal(random: Random, shape: [number, number], scale = 1): tf.Tensor2D {
  return tf.tensor2d(
    Float32Array.from({ length: shape[0] * shape[1] }, () => scale * random.normal()),
    shape,
  );
}

/** Largest difference between the gradients and central differences, relative to the largest gradient. */
function differenceFromFiniteDifferences<Name extends string>(
  parameters: Tensors<Name>,
  loss: (parameters: Tensors<Name>) => tf.Tensor2D,
): number {
  const { gradients } = gradientsOf(parameters, (own) => ({ loss: loss(own), outputs: {} }));
  const step = 1e-2;
  let worst = 0;
  let largest = 0;
  for (const name of namesOf(parameters)) {
    const values = parameters[name].dataSync().slice();
    const analytic = gradients[name].dataSync();
    for (let i = 0; i < values.length; i += Math.max(1, Math.floor(values.length / 12))) {
      const at = (change: number) => {
        const moved = values.slice();
        moved[i] += change;
        const total = tf.tidy(() =>
          tf.sum(loss({ ...parameters, [name]: tf.tensor2d(moved, parameters[name].shape) })),
        );
        return total.dataSync()[0];
      };
      // Richardson's extrapolation: float32 losses want a wide step, a wide step wants the next order.
      const wide = (at(step) - at(-step)) / (2 * step);
      const narrow = (at(step / 2) - at(-step / 2)) / step;
      worst = Math.max(worst, Math.abs((4 * narrow - wide) / 3 - analytic[i]));
      largest = Math.max(largest, Math.abs(analytic[i]));
    }
  }
  expect(largest).toBeGreaterThan(0);
  return worst / largest;
}

describe('the gradient of the PPO loss', () => {
  const rows = 12;
  const inputs = 5;
  const hidden = 4;
  const actions = 3;

  function problem({ clip, entropy, value, valueClip }: Record<'clip' | 'entropy' | 'value' | 'valueClip', number>) {
    const random = newRandom();
    const agent = createPolicyValue({ inputs, actions, hidden, hasCritic: true, random });
    const own = parametersOf(agent);
    // A head of gain 0.01 would leave every ratio at 1: give the policy opinions.
    const given = { ...own, w3: tf.mul<tf.Tensor2D>(own.w3, 30) };
    const oneHot = new Float32Array(rows * actions);
    for (let row = 0; row < rows; row++) oneHot[row * actions + random.integer(actions)] = 1;
    const batch = {
      observations: normal(random, [rows, inputs]),
      oneHotActions: tf.tensor2d(oneHot, [rows, actions]),
      oldLogProbabilities: tf.sub<tf.Tensor2D>(normal(random, [rows, 1], 0.3), 1.1),
      oldValues: normal(random, [rows, 1]),
      advantages: normal(random, [rows, 1]),
      policyWeights: tf.tensor2d(
        Array.from({ length: rows }, (_, row) => [1, 0, 2][row % 3]),
        [rows, 1],
      ),
      returns: normal(random, [rows, 1]),
    };
    const coefficients = {
      clip: single(clip),
      entropy: single(entropy),
      value: single(value),
      valueClip: single(valueClip),
    };
    const loss = (parameters: typeof given) => ppoLoss(parameters, batch, coefficients);
    return { parameters: given, loss };
  }

  it.each([
    { clip: 0.1, entropy: 0.01, value: 0.5, valueClip: 0.1 },
    { clip: 0.4, entropy: 0.2, value: 1.5, valueClip: 1e30 },
  ])('equals finite differences: %o', (coefficients) => {
    const { parameters, loss } = problem(coefficients);
    expect(differenceFromFiniteDifferences(parameters, loss)).toBeLessThan(5e-3);
  });
});

describe('the gradient of the GAIL loss', () => {
  const inputs = 6;
  const hidden = 7;
  const batchSize = 5;

  const present = { rows: new Int32Array(1), actions: new Uint8Array(1) };
  const absent = { rows: new Int32Array(0), actions: new Uint8Array(0) };

  function problem(options: {
    present: readonly ExpertName[];
    config: { discriminator?: object; misleading?: string; alpha?: number };
  }) {
    const random = newRandom();
    const sets = options.present.length;
    const { discriminator: ofDiscriminator = {}, ...ofGail } = options.config;
    const gail = z.strictObject(gailOptions).parse({
      ...ofGail,
      discriminator: { batchSize, hidden, ...ofDiscriminator },
    });
    const pairs = (name: ExpertName) => (options.present.includes(name) ? present : absent);
    const tasks = discriminatorTasks(gail, {
      conservative: pairs('conservative'),
      earlyAction: pairs('earlyAction'),
      misleading: pairs('misleading'),
    });
    const [discriminator] = createDiscriminators(tasks, { inputs, config: gail.discriminator, random });
    const { rowWeights } = discriminator;
    const parameters = parametersOf(discriminator);
    const rows = (sets + 1) * batchSize;
    const uniform = (count: number) =>
      tf.tensor2d(
        Float32Array.from({ length: count }, () => random.uniform()),
        [count, 1],
      );
    const batch = {
      states: normal(random, [rows, inputs]),
      actions: tf.cast<tf.Tensor2D>(tf.greaterEqual<tf.Tensor2D>(uniform(rows), 0.5), 'float32'),
      mixture: uniform(sets * batchSize),
    };
    return { parameters, batch, loss: (own: typeof parameters) => gailLoss(own, batch, rowWeights) };
  }

  it.each([
    ['three experts, penalty', { present: experts, config: {} }],
    ['the misleading set subtracted', { present: experts, config: { misleading: 'subtract' } }],
    ['no penalty', { present: experts, config: { discriminator: { penalty: 0 } } }],
    ['no misleading pairs', { present: ['conservative', 'earlyAction'], config: {} }],
    ['another ratio', { present: experts, config: { alpha: 0.5 } }],
  ] as const)('equals finite differences: %s', (_, options) => {
    const { parameters, loss } = problem(options);
    expect(differenceFromFiniteDifferences(parameters, (own) => loss(own).loss)).toBeLessThan(5e-3);
  });

  it('has a penalty that is the squared distance of the true input gradient from its target', () => {
    const config = { present: experts, config: { discriminator: { penalty: 3 } } };
    const { parameters, batch, loss } = problem(config);
    const withoutPenalty = problem({ ...config, config: { discriminator: { penalty: 0 } } });
    const { penalty } = loss(parameters).outputs;
    const byIdentity = tf.sub(loss(parameters).loss, withoutPenalty.loss(parameters).loss).dataSync()[0];

    // The definition: mix the inputs, differentiate the logit with respect to them.
    const pairs = tf.concat([batch.states, batch.actions], 1);
    const agent = tf.concat(Array(3).fill(tf.slice(pairs, [0, 0], [batchSize, -1])), 0);
    const expert = tf.slice(pairs, [batchSize, 0], [3 * batchSize, -1]);
    const mixed = tf.add<tf.Tensor2D>(agent, tf.mul(batch.mixture, tf.sub(expert, agent)));
    const whole = tf.concat([parameters.w1, parameters.wAction], 0);
    const { gradients } = gradientsOf({ mixed }, (own) => ({
      loss: upperForward(parameters, layer(own.mixed, { weights: whole, bias: parameters.b1 }, { isTanh: true }))
        .output,
      outputs: {},
    }));
    const norms = Array.from(tf.sqrt(tf.sum(tf.square(gradients.mixed), 1)).dataSync());
    const shares = [0.7, 0.15, 0.15].map((share) => share / 0.7);
    const expected = norms.reduce(
      (sum, norm, row) => sum + (3 * shares[Math.floor(row / batchSize)] * (norm - 1) ** 2) / batchSize,
      0,
    );
    expect(byIdentity).toBeCloseTo(expected, 4);
    // What the log has.
    expect(withoutPenalty.loss(parameters).outputs.penalty).toBeNull();
    expect(penalty?.dataSync()[0]).toBeCloseTo(expected, 4);
  });

  it('is of Eq. 3, over the weight of the agent, where misleading pairs are subtracted without a penalty', () => {
    const literal = { misleading: 'subtract', discriminator: { penalty: 0 } };
    const { parameters, loss } = problem({ present: experts, config: literal });
    const { loss: own, outputs } = loss(parameters);
    // D is the agent's probability in the paper; rows are the agent's, then those of CE, EAE and ME.
    const d = Array.from(outputs.logits.dataSync(), (logit) => 1 / (1 + Math.exp(logit)));
    const meanLog = (set: number, of: (probability: number) => number) =>
      d.slice(set * batchSize, (set + 1) * batchSize).reduce((sum, each) => sum + Math.log(of(each)), 0) / batchSize;
    const ofExpert = (set: number) => meanLog(set, (probability) => 1 - probability);
    const objective =
      (0.7 + 0.15 - 0.15) * meanLog(0, (probability) => probability) +
      0.7 * ofExpert(1) +
      0.15 * ofExpert(2) -
      0.15 * ofExpert(3);
    expect(own.dataSync()[0]).toBeCloseTo(-objective / 0.7, 4);
  });
});
