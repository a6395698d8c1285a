import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AdamOptions,
  adamStep,
  disposeOptimized,
  nextAdamSteps,
  type Optimized,
  optimized,
  parametersOf,
  resetOptimizer,
} from '../../../src/tensor/adam.ts';
import { adamUpdateArrays, optimizedArrays } from '../../../src/tensor/adam-arrays.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { compiled } from '../../../src/tensor/graph/compiled.ts';
import type { Tensors } from '../../../src/tensor/operations.ts';
import { Random } from '../../../src/tensor/random.ts';
import { testBackends } from './test-backend.ts';

const shapes = { weights: [3, 2], bias: [1, 2] } as const;
type Name = keyof typeof shapes;
const names = ['weights', 'bias'] as const;
type Numbers = Record<Name, number[]>;

/** Adam on plain arrays, written after Algorithm 1 of Kingma & Ba (2015). */
class PlainAdam {
  first: Numbers = { weights: Array(6).fill(0), bias: Array(2).fill(0) };
  second: Numbers = { weights: Array(6).fill(0), bias: Array(2).fill(0) };
  t = 0;
  parameters: Numbers;

  constructor(parameters: Numbers) {
    this.parameters = parameters;
  }

  update(gradients: Numbers, options: { learningRate: number; epsilon: number; maxNorm: number }): void {
    this.t++;
    const norm = Math.sqrt(names.flatMap((name) => gradients[name]).reduce((sum, g) => sum + g * g, 0));
    const scale = Math.min(1, options.maxNorm / (norm + 1e-6));
    for (const name of names)
      for (const [i, raw] of gradients[name].entries()) {
        const gradient = raw * scale;
        this.first[name][i] = 0.9 * this.first[name][i] + 0.1 * gradient;
        this.second[name][i] = 0.999 * this.second[name][i] + 0.001 * gradient * gradient;
        const first = this.first[name][i] / (1 - 0.9 ** this.t);
        const second = this.second[name][i] / (1 - 0.999 ** this.t);
        this.parameters[name][i] -= (options.learningRate * first) / (Math.sqrt(second) + options.epsilon);
      }
  }
}

const random = Random.seeded({ seed: 1, purpose: 'adam' });
const draw = (scale: number): Record<Name, Float32Array> => ({
  weights: Float32Array.from({ length: 6 }, () => scale * random.normal()),
  bias: Float32Array.from({ length: 2 }, () => scale * random.normal()),
});
const tensors = (values: Record<Name, Float32Array>) => ({
  weights: tf.tensor2d(values.weights, [...shapes.weights]),
  bias: tf.tensor2d(values.bias, [...shapes.bias]),
});
const numbersOf = ({ weights, bias }: Record<Name, Float32Array>): Numbers => ({
  weights: [...weights],
  bias: [...bias],
});

async function update(
  state: Optimized<Name>,
  gradients: Record<Name, Float32Array>,
  options: AdamOptions,
): Promise<void> {
  const own = tensors(gradients);
  const step = nextAdamSteps(state, { ...options, count: 1 });
  const moved = await compiledStep({ gradients: own, step, moving: state.moving });
  state.moving = moved.moving;
  tf.dispose(own);
}

const compiledStep = compiled(
  ({ moving, gradients, step }: { moving: tf.Tensor2D; gradients: Tensors<Name>; step: tf.Tensor2D }) => ({
    moving: tf.concat(
      [...adamStep(tf.split(moving, 3, 0), Object.values(gradients), tf.split(step, step.shape[1], 1))],
      0,
    ),
  }),
  { spends: 'moving' },
);

function read(state: Optimized<Name>): Record<Name, Float32Array> {
  const parameters = parametersOf(state);
  const values = { weights: parameters.weights.dataSync(), bias: parameters.bias.dataSync() };
  tf.dispose(parameters);
  return values as Record<Name, Float32Array>;
}

/** Largest difference of any parameter of the state from the plain ones. */
function difference(state: Optimized<Name>, { parameters }: PlainAdam): number {
  const reached = read(state);
  const differences = names.flatMap((name) =>
    Array.from(reached[name], (value, i) => Math.abs(value - parameters[name][i])),
  );
  return Math.max(...differences);
}

describe.each(testBackends)('adamStep on %s', (backend) => {
  beforeAll(() => selectBackend(backend));

  it.each<[string, AdamOptions]>([
    ['a small learning rate', { learningRate: 0.003, epsilon: 1e-8 }],
    ['a large epsilon', { learningRate: 0.1, epsilon: 1e-2 }],
    ['clipping at a norm', { learningRate: 0.1, epsilon: 1e-5, maxGradientNorm: 0.5 }],
    ['a norm that is never reached', { learningRate: 0.1, epsilon: 1e-5, maxGradientNorm: 1e9 }],
    ['a learning rate of 0', { learningRate: 0, epsilon: 1e-8 }],
  ])('equals Adam on plain arrays: %s', async (_, options) => {
    const start = draw(1);
    const state = optimized(tensors(start));
    const plain = new PlainAdam(numbersOf(start));
    for (let step = 0; step < 25; step++) {
      const gradients = draw(step % 3 === 0 ? 4 : 0.2);
      await update(state, gradients, options);
      const { learningRate, epsilon, maxGradientNorm = Infinity } = options;
      plain.update(numbersOf(gradients), { learningRate, epsilon, maxNorm: maxGradientNorm });
    }
    expect(state.updates).toBe(25);
    expect(difference(state, plain)).toBeLessThan(2e-6);
    disposeOptimized(state);
  });

  it('owns its tensor: the state keeps one, dispose frees it', async () => {
    const before = tf.memory().numTensors;
    const state = optimized(tensors(draw(1)));
    expect(tf.memory().numTensors).toBe(before + 1);
    for (let step = 0; step < 3; step++)
      await update(state, draw(1), { learningRate: 0.1, epsilon: 1e-8, maxGradientNorm: 1 });
    resetOptimizer(state);
    expect(tf.memory().numTensors).toBe(before + 1);
    disposeOptimized(state);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('starts anew after resetOptimizer, from the parameters it has', async () => {
    const start = draw(1);
    const state = optimized(tensors(start));
    const options = { learningRate: 0.1, epsilon: 1e-8 };
    await update(state, draw(1), options);
    resetOptimizer(state);
    const plain = new PlainAdam(numbersOf(read(state)));
    const gradients = draw(1);
    await update(state, gradients, options);
    plain.update(numbersOf(gradients), { learningRate: 0.1, epsilon: 1e-8, maxNorm: Infinity });
    expect(difference(state, plain)).toBeLessThan(1e-6);
    disposeOptimized(state);
  });
});

describe('on one flat array', () => {
  it('follows the paper step by step, in place, and goes uphill at a negative rate', () => {
    const start = draw(1).bias;
    const plain = new PlainAdam({ weights: Array(6).fill(0), bias: [...start] });
    const state = optimizedArrays(Float64Array.from(start));
    const mirrored = optimizedArrays(state.parameters.map((value) => -value));
    for (let update = 1; update <= 40; update++) {
      const gradient = Float64Array.from(draw(10 ** (update % 5)).bias);
      const learningRate = 0.1 / update;
      plain.update({ weights: Array(6).fill(0), bias: [...gradient] }, { learningRate, epsilon: 1e-8, maxNorm: 1e9 });
      adamUpdateArrays(state, { gradient, learningRate, epsilon: 1e-8 });
      adamUpdateArrays(mirrored, { gradient, learningRate: -learningRate, epsilon: 1e-8 });
      expect(state.updates).toBe(update);
      for (const [index, expected] of plain.parameters.bias.entries())
        expect(state.parameters[index]).toBeCloseTo(expected, 12);
      expect(mirrored.parameters.map((value) => -value)).toEqual(state.parameters);
    }
  });
});
