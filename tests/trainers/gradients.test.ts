import '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ExpertName, expertNames as experts } from '../../experts/trajectories.ts';
import { namesOf, type Tensors } from '../../src/tensor/adam.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { Random } from '../../src/tensor/random.ts';
import { createDiscriminator, gailGradients, occupancyGradients } from '../../trainers/discriminator.ts';
import { exactPpoGradients, exactPpoLoss } from '../../trainers/exact-ppo.ts';
import { gailLoss, gailOptions, gailRowWeights } from '../../trainers/gail.ts';
import { createPolicyValue } from '../../trainers/policy-value.ts';
import { ppoGradients, ppoLoss } from '../../trainers/ppo.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(() => selectBackend(testBackend('cpu')));

const randomsFor = (members: number) =>
  Array.from({ length: members }, (_, seed) => Random.seeded({ seed, purpose: 'gradients' }));

function normal(random: Random, shape: [number, number, number], scale = 1): tf.Tensor3D {
  return tf.tensor3d(
    Float32Array.from({ length: shape[0] * shape[1] * shape[2] }, () => scale * random.normal()),
    shape,
  );
}

/** Largest difference between written-out gradients and central differences, relative to the largest gradient. */
function differenceFromFiniteDifferences<Name extends string>(
  parameters: Tensors<Name>,
  gradients: Tensors<Name>,
  loss: (parameters: Tensors<Name>) => tf.Tensor3D,
): number {
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
          tf.sum(loss({ ...parameters, [name]: tf.tensor(moved, parameters[name].shape) as tf.Tensor3D })),
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

/** Largest difference between written-out gradients and tfjs' automatic ones, relative to the largest gradient. */
function differenceFromAutodiff<Name extends string>(
  parameters: Tensors<Name>,
  gradients: Tensors<Name>,
  loss: (parameters: Tensors<Name>) => tf.Tensor3D,
): number {
  const names = namesOf(parameters);
  const automatic = tf.grads((...tensors: tf.Tensor[]) =>
    tf.sum(loss(Object.fromEntries(names.map((name, i) => [name, tensors[i]])) as Tensors<Name>)),
  )(names.map((name) => parameters[name]));
  let worst = 0;
  let largest = 0;
  for (const [i, name] of names.entries()) {
    const expected = automatic[i].dataSync();
    const actual = gradients[name].dataSync();
    for (let j = 0; j < expected.length; j++) {
      worst = Math.max(worst, Math.abs(expected[j] - actual[j]));
      largest = Math.max(largest, Math.abs(expected[j]));
    }
  }
  return worst / largest;
}

describe('the gradient of the PPO loss', () => {
  const members = 2;
  const rows = 12;
  const inputs = 5;
  const hidden = 4;
  const actions = 3;

  function problem() {
    const randoms = randomsFor(members);
    const [random] = randoms;
    const agent = createPolicyValue({ inputs, actions, hidden, randoms });
    // A head of gain 0.01 would leave every ratio at 1: give the policy opinions.
    agent.parameters.w3 = tf.mul(agent.parameters.w3, 30);
    const oneHot = new Float32Array(members * rows * actions);
    for (let row = 0; row < members * rows; row++) oneHot[row * actions + random.integer(actions)] = 1;
    const batch = {
      observations: normal(random, [members, rows, inputs]),
      oneHotActions: tf.tensor3d(oneHot, [members, rows, actions]),
      oldLogProbabilities: tf.sub(normal(random, [members, rows, 1], 0.3), 1.1) as tf.Tensor3D,
      oldValues: normal(random, [members, rows, 1]),
      advantages: normal(random, [members, rows, 1]),
      returns: normal(random, [members, rows, 1]),
    };
    const { blockMasks } = agent;
    const coefficients = {
      clip: tf.tensor3d([0.1, 0.4], [members, 1, 1]),
      entropy: tf.tensor3d([0.01, 0.2], [members, 1, 1]),
      value: tf.tensor3d([0.5, 1.5], [members, 1, 1]),
    };
    const masked = (parameters: typeof agent.parameters) =>
      ppoLoss(
        { ...parameters, w2: tf.mul(parameters.w2, blockMasks.w2), w3: tf.mul(parameters.w3, blockMasks.w3) },
        batch,
        coefficients,
      );
    return { parameters: agent.parameters, gradients: ppoGradients(agent, batch, coefficients), loss: masked };
  }

  it('equals finite differences, for each member with its own coefficients', () => {
    const { parameters, gradients, loss } = problem();
    expect(differenceFromFiniteDifferences(parameters, gradients, loss)).toBeLessThan(5e-3);
  });

  it('equals automatic differentiation', () => {
    const { parameters, gradients, loss } = problem();
    expect(differenceFromAutodiff(parameters, gradients, loss)).toBeLessThan(1e-5);
  });
});

describe('the gradient of the PPO loss over all states', () => {
  const members = 2;
  const states = 9;

  function problem() {
    const randoms = randomsFor(members);
    const [random] = randoms;
    const agent = createPolicyValue({ inputs: 5, actions: 2, hidden: 4, randoms });
    agent.parameters.w3 = tf.mul(agent.parameters.w3, 30);
    const { blockMasks } = agent;
    const batch = {
      observations: normal(random, [members, states, 5]),
      oldLogProbabilities: tf.sub<tf.Tensor3D>(normal(random, [members, states, 2], 0.3), 0.7),
      advantages: normal(random, [members, states, 2]),
      weights: tf.abs(normal(random, [members, states, 2])),
      visits: tf.abs(normal(random, [members, states, 1])),
    };
    const coefficients = {
      clip: tf.tensor3d([0.1, 0.4], [members, 1, 1]),
      entropy: tf.tensor3d([0.01, 0.2], [members, 1, 1]),
    };
    const masked = (parameters: typeof agent.parameters) =>
      exactPpoLoss(
        { ...parameters, w2: tf.mul(parameters.w2, blockMasks.w2), w3: tf.mul(parameters.w3, blockMasks.w3) },
        batch,
        coefficients,
      );
    return { parameters: agent.parameters, gradients: exactPpoGradients(agent, batch, coefficients), loss: masked };
  }

  it('equals finite differences and automatic differentiation', () => {
    const { parameters, gradients, loss } = problem();
    expect(differenceFromFiniteDifferences(parameters, gradients, loss)).toBeLessThan(5e-3);
    expect(differenceFromAutodiff(parameters, gradients, loss)).toBeLessThan(1e-5);
  });
});

describe('the gradient of the GAIL loss over an occupancy', () => {
  it.each([0, 10])('equals that over the same pairs, row by row: penalty %d', (penalty) => {
    const members = 2;
    const agentStates = 3;
    const pairs = 2 * agentStates;
    const inputs = 4;
    const sets = 2;
    const randoms = randomsFor(members);
    const [random] = randoms;
    const { parameters } = createDiscriminator({ inputs, hidden: 5, randoms });
    const agent = normal(random, [members, agentStates, inputs]);
    const ofExperts = normal(random, [members, sets * pairs, inputs]);
    const expertActions = tf.cast(tf.greater(normal(random, [members, sets * pairs, 1]), 0), 'float32') as tf.Tensor3D;
    const mixture = tf.abs(normal(random, [members, sets * pairs, 1], 0.3));
    const rowWeights = {
      labelsExpertIsOne: tf.concat(
        [tf.zeros([members, pairs, 1]), tf.ones([members, sets * pairs, 1])],
        1,
      ) as tf.Tensor3D,
      weights: tf.abs(normal(random, [members, (1 + sets) * pairs, 1])),
      penalties: penalty === 0 ? null : tf.mul<tf.Tensor3D>(normal(random, [members, sets * pairs, 1]), penalty),
      penaltyTarget: tf.ones([members, 1, 1]) as tf.Tensor3D,
    };
    const byRow = gailGradients(
      parameters,
      {
        states: tf.concat([agent, agent, ofExperts], 1),
        actions: tf.concat(
          [tf.zeros([members, agentStates, 1]), tf.ones([members, agentStates, 1]), expertActions],
          1,
        ) as tf.Tensor3D,
        mixture,
      },
      rowWeights,
    );
    // Row r of the experts is mixed with pair r modulo the number of pairs, as in `mixPreActivations`.
    const shares = mixture.dataSync();
    const columns = (1 + sets) * pairs;
    const mixtures = new Float32Array(members * sets * pairs * columns);
    for (const [index, share] of shares.entries()) {
      const row = index % (sets * pairs);
      mixtures[index * columns + pairs + row] = share;
      mixtures[index * columns + (row % pairs)] = 1 - share;
    }
    const byState = occupancyGradients(
      parameters,
      {
        states: tf.concat([agent, ofExperts], 1),
        expertActions,
        mixtures: tf.tensor3d(mixtures, [members, sets * pairs, columns]),
      },
      rowWeights,
    );
    for (const name of namesOf(parameters)) {
      const expected = byRow.gradients[name].dataSync();
      expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(1e-3);
      for (const [i, value] of byState.gradients[name].dataSync().entries()) expect(value).toBeCloseTo(expected[i], 4);
    }
    const logits = byRow.logits.dataSync();
    for (const [i, value] of byState.logits.dataSync().entries()) expect(value).toBeCloseTo(logits[i], 5);
  });
});

describe('the gradient of the GAIL loss', () => {
  const inputs = 6;
  const hidden = 7;
  const batchSize = 5;

  function problem(options: {
    present: readonly ExpertName[];
    config: { discriminator?: object; misleading?: string; misleadingPenalty?: string };
    members?: number;
  }) {
    const members = options.members ?? 2;
    const randoms = randomsFor(members);
    const [random] = randoms;
    const sets = options.present.length;
    const { discriminator: ofDiscriminator = {}, ...ofGail } = options.config;
    const stream = {
      pairs: { rows: new Int32Array(1), actions: new Uint8Array(1) },
      drawn: 'passes' as const,
      order: new Int32Array(0),
      position: 0,
    };
    const gailMembers = randoms.map((random, member) => ({
      random,
      streams: options.present.map(() => stream),
      config: z.strictObject(gailOptions).parse({
        ...ofGail,
        discriminator: { batchSize, ...ofDiscriminator },
        ...(member === 1 ? { alpha: 0.5 } : {}),
      }),
    }));
    const rows = (sets + 1) * batchSize;
    const uniform = (count: number) =>
      tf.tensor3d(
        Float32Array.from({ length: members * count }, () => random.uniform()),
        [members, count, 1],
      );
    const discriminator = createDiscriminator({ inputs, hidden, randoms });
    const batch = {
      states: normal(random, [members, rows, inputs]),
      actions: tf.round(uniform(rows)) as tf.Tensor3D,
      mixture: uniform(sets * batchSize),
    };
    const rowWeights = gailRowWeights(gailMembers, options.present);
    const { gradients, mixtureNorms } = gailGradients(discriminator.parameters, batch, rowWeights);
    const loss = (parameters: typeof discriminator.parameters) => gailLoss(parameters, batch, rowWeights);
    return { parameters: discriminator.parameters, gradients, mixtureNorms, loss };
  }

  it.each([
    ['three experts, penalty', { present: experts, config: {} }],
    [
      'the misleading set subtracted',
      { present: experts, config: { misleading: 'subtract', misleadingPenalty: 'subtract' } },
    ],
    ['no penalty', { present: experts, config: { discriminator: { penalty: 0 } } }],
    ['no misleading pairs', { present: ['conservative', 'earlyAction'], config: {} }],
    ['one member', { present: experts, config: {}, members: 1 }],
  ] as const)('equals finite differences and automatic differentiation: %s', (_, options) => {
    const { parameters, gradients, loss } = problem(options);
    expect(differenceFromFiniteDifferences(parameters, gradients, loss)).toBeLessThan(5e-3);
    expect(differenceFromAutodiff(parameters, gradients, loss)).toBeLessThan(1e-5);
  });

  it('has a penalty that is the squared distance of the true input gradient from its target', () => {
    const config = { present: experts, config: { discriminator: { penalty: 3 } }, members: 1 };
    const { parameters, mixtureNorms, loss } = problem(config);
    const withoutPenalty = problem({ ...config, config: { discriminator: { penalty: 0 } } });
    const byIdentity = tf.sub(loss(parameters), withoutPenalty.loss(parameters)).dataSync()[0];

    // The definition: mix the inputs, differentiate the logit with respect to them.
    const randoms = randomsFor(1);
    const [random] = randoms;
    createDiscriminator({ inputs, hidden, randoms });
    const states = normal(random, [1, 4 * batchSize, inputs]);
    const uniform = (count: number) =>
      tf.tensor3d(
        Float32Array.from({ length: count }, () => random.uniform()),
        [1, count, 1],
      );
    const actions = tf.round(uniform(4 * batchSize)) as tf.Tensor3D;
    const mixture = uniform(3 * batchSize);
    const pairs = tf.concat([states, actions], 2);
    const agent = tf.tile(tf.slice(pairs, [0, 0, 0], [1, batchSize, -1]), [1, 3, 1]);
    const expert = tf.slice(pairs, [0, batchSize, 0], [1, 3 * batchSize, -1]);
    const mixed = tf.add(agent, tf.mul(mixture, tf.sub(expert, agent)));
    const { w1, wAction, b1, w2, b2, w3, b3 } = parameters;
    const matrix = (tensor: tf.Tensor3D) => tf.reshape(tensor, [tensor.shape[1], tensor.shape[2]]);
    const logitSum = (x: tf.Tensor) => {
      const first = tf.tanh(
        tf.add(tf.matMul(tf.reshape(x, [-1, inputs + 1]), matrix(tf.concat([w1, wAction], 1))), matrix(b1)),
      );
      const second = tf.tanh(tf.add(tf.matMul(first as tf.Tensor2D, matrix(w2)), matrix(b2)));
      return tf.sum(tf.add(tf.matMul(second as tf.Tensor2D, matrix(w3)), matrix(b3)));
    };
    const norms = Array.from(tf.norm(tf.reshape(tf.grad(logitSum)(mixed), [-1, inputs + 1]), 2, 1).dataSync());
    const shares = [0.7, 0.15, 0.15].map((share) => share / 0.7);
    const expected = norms.reduce(
      (sum, norm, row) => sum + (3 * shares[Math.floor(row / batchSize)] * (norm - 1) ** 2) / batchSize,
      0,
    );
    expect(byIdentity).toBeCloseTo(expected, 4);
    // What the log's penalty is made of.
    expect(withoutPenalty.mixtureNorms).toBeUndefined();
    for (const [row, norm] of mixtureNorms?.dataSync().entries() ?? []) expect(norm).toBeCloseTo(norms[row], 5);
    expect(mixtureNorms?.shape).toEqual([1, 3 * batchSize, 1]);
  });
});
