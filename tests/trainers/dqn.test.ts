import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../src/tensor/backend.ts';
import { gradientsOf } from '../../src/tensor/gradients.ts';
import { type MlpName, namesOf, type Tensors } from '../../src/tensor/operations.ts';
import { Random } from '../../src/tensor/random.ts';
import { workContext } from '../../src/work-context.ts';
import { dqnSchema } from '../../trainers/config.ts';
import { bellmanTargets, emptyMemory, type QMinibatch, qLoss, remember, stopReward } from '../../trainers/dqn.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import { stopProbabilities } from '../../trainers/stop-agent/policy.ts';
import { testBackend } from '../src/tensor/test-backend.ts';
import { smallProblem, smallSettings } from './stop-agent/small-problem.ts';

beforeAll(async () => {
  await selectBackend(testBackend('cpu'));
  tf.engine().startScope();
});
afterAll(() => tf.engine().endScope());

const config = dqnSchema.parse({});

describe('what a step earns', () => {
  it('is that of ERD', () => {
    expect(stopReward(config, { isRight: true, rightStops: 1 })).toBe(1);
    expect(stopReward(config, { isRight: true, rightStops: 10 })).toBeCloseTo(1 + 0.2 * Math.log(10), 12);
    expect(stopReward(config, { isRight: false, rightStops: 10 })).toBe(-100);
  });
});

describe('a target', () => {
  it('is the reward of a stop, and of a wait what the next state is worth, discounted', () => {
    const memory = emptyMemory(3);
    remember(memory, { row: 0, action: 0, reward: -0.01, nextRow: 1 });
    remember(memory, { row: 1, action: 1, reward: -100, nextRow: -1 });
    remember(memory, { row: 2, action: 0, reward: -0.01, nextRow: 3 });
    const values = Float32Array.of(7, 4, 9, -2);
    const targets = bellmanTargets(memory, { steps: Int32Array.of(2, 0, 1, 0), values, discount: 0.5 });
    expect([...targets]).toEqual([-1.01, 1.99, -100, 1.99].map(Math.fround));
  });
});

describe('the memory', () => {
  it('forgets the oldest step first', () => {
    const memory = emptyMemory(3);
    for (let row = 0; row < 5; row++) remember(memory, { row, action: row % 2, reward: row, nextRow: -1 });
    expect([memory.size, memory.position]).toEqual([3, 2]);
    expect([...memory.rows]).toEqual([3, 4, 2]);
    expect([...memory.actions]).toEqual([1, 0, 0]);
  });
});

describe('the loss', () => {
  const [rows, inputs, hidden] = [4, 3, 5];
  const random = Random.seeded({ seed: 1, purpose: 'q loss' });
  const draw = (shape: [number, number]) =>
    tf.tensor2d(
      Array.from({ length: shape[0] * shape[1] }, () => random.normal()),
      shape,
    );
  const parametersOf = (): Tensors<MlpName> => ({
    w1: draw([inputs, hidden]),
    b1: draw([1, hidden]),
    w2: draw([hidden, hidden]),
    b2: draw([1, hidden]),
    w3: draw([hidden, 2]),
    b3: draw([1, 2]),
  });
  const actions = [0, 1, 1, 0];
  const batchOf = (): QMinibatch => ({
    observations: draw([rows, inputs]),
    taken: tf.tensor2d(
      actions.flatMap((action) => [1 - action, action]),
      [rows, 2],
    ),
    targets: draw([rows, 1]),
  });

  it('is the mean squared error of the action that was taken', () => {
    const [parameters, batch] = [parametersOf(), batchOf()];
    const { w1, b1, w2, b2, w3, b3 } = parameters;
    const first = tf.tanh(tf.add(tf.matMul(batch.observations, w1), b1));
    const second = tf.tanh(tf.add(tf.matMul(first, w2), b2));
    const q = tf.add(tf.matMul(second, w3), b3).dataSync();
    const y = batch.targets.dataSync();
    const expected = actions.reduce((sum, action, row) => sum + (y[row] - q[2 * row + action]) ** 2, 0) / rows;
    expect(qLoss(parameters, batch).dataSync()[0]).toBeCloseTo(expected, 4);
  });

  it('has the gradient of finite differences', () => {
    const [parameters, batch] = [parametersOf(), batchOf()];
    const { gradients } = gradientsOf(parameters, (own) => ({ loss: qLoss(own, batch), outputs: {} }));
    const lossAt = (name: MlpName, place: number, by: number) => {
      const data = parameters[name].dataSync().slice();
      data[place] += by;
      const moved = { ...parameters, [name]: tf.tensor2d(data, parameters[name].shape) };
      return qLoss(moved, batch).dataSync()[0];
    };
    for (const name of namesOf(parameters)) {
      const gradient = gradients[name].dataSync();
      for (let place = 0; place < gradient.length; place += 3)
        expect(gradient[place]).toBeCloseTo((lossAt(name, place, 0.01) - lossAt(name, place, -0.01)) / 0.02, 2);
    }
  });
});

describe('trained to the end', () => {
  it.each([
    ['at the second post, from which on the detector is right', (step: number) => step > 0, [1, 1, 1]],
    ['at the last post, where the detector is right', (step: number, posts: number) => step === posts - 1, [2, 4, 6]],
    ['at the first post, where the detector is never right', () => false, [0, 0, 0]],
  ])('stops %s', async (_, isRight, expected) => {
    const all = smallProblem();
    const labelled = Array.from(all.labelled, ([thread, own]) => {
      const right = own.right.map((_, step) => Number(isRight(step, own.right.length)));
      return [thread, { ...own, right }] as const;
    });
    const problem = { ...all, labelled: new Map(labelled) };
    // Waiting is dear enough for a few iterations to see it.
    const rewards = { wrongCost: 1, waitCost: 0.1, rightGrowth: 0 };
    const dqn = { ...rewards, exploration: 0.5, learningRate: 0.01, updates: 8, memory: 1000 };
    const more = { algorithm: 'dqn', iterations: 100, hidden: 16, dqn } as const;
    const trainer = await createStopAgent(smallSettings({ more, problem }));
    while (trainer.iteration < trainer.iterations) await trainer.iterate(workContext());
    const policy = await trainer.policy();
    const probabilities = stopProbabilities(policy, problem.table);
    const stops = Array.from(problem.labelled.keys(), (thread) => {
      const first = probabilities[thread].findIndex((probability) => probability > 0.5);
      return first < 0 ? probabilities[thread].length - 1 : first;
    });
    expect(stops).toEqual(expected);
    trainer.dispose();
  });
});
