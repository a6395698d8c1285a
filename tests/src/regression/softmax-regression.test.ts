import { expect, it } from 'vitest';
import {
  certainTargets,
  minimize,
  type SoftmaxProblem,
  softmaxLoss,
} from '../../../src/regression/softmax-regression.ts';
import { SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';

function problemOf(options: {
  rows: readonly (readonly number[])[];
  labels: readonly number[];
  classCount: number;
  l2: number;
  candidates?: readonly boolean[];
}): SoftmaxProblem {
  const { rows, labels, classCount, l2 } = options;
  const builder = new SparseMatrixBuilder({ columns: rows[0].length });
  for (const row of rows) {
    for (const [index, value] of row.entries()) builder.add(index, value);
    builder.endRow();
  }
  return {
    features: builder.build(),
    targets: certainTargets({ labels, classCount }),
    rowWeights: new Float64Array(labels.length).fill(1 / labels.length),
    candidates: options.candidates ?? Array.from({ length: classCount }, () => true),
    prior: new Float64Array(rows[0].length * classCount),
    l2,
  };
}

function randomProblem(options: { candidates?: readonly boolean[]; labelsBelow?: number }): SoftmaxProblem {
  const random = Random.seeded({ seed: 4, purpose: 'test' });
  const rows = Array.from({ length: 30 }, () =>
    Array.from({ length: 7 }, () => (random.uniform() < 0.4 ? random.uniform() - 0.5 : 0)),
  );
  const labels = rows.map(() => Math.floor((options.labelsBelow ?? 4) * random.uniform()));
  const problem = problemOf({ rows, labels, classCount: 4, l2: 0.01, ...options });
  return { ...problem, prior: problem.prior.map(() => random.uniform() - 0.5) };
}

it.each([
  { name: 'all classes', options: {} },
  { name: 'two candidates', options: { candidates: [true, true, false, false], labelsBelow: 2 } },
])('has the gradient of finite differences, $name', ({ options }) => {
  const problem = randomProblem(options);
  const weights = problem.prior.map((value, index) => value + Math.sin(index));
  const gradient = new Float64Array(weights.length);
  softmaxLoss({ problem, weights, gradient });
  const scratch = new Float64Array(weights.length);
  for (let index = 0; index < weights.length; index++) {
    const lossAt = (shift: number) =>
      softmaxLoss({ problem, weights: weights.with(index, weights[index] + shift), gradient: scratch });
    expect(gradient[index]).toBeCloseTo((lossAt(1e-5) - lossAt(-1e-5)) / 2e-5, 8);
  }
});

it('is ln 3 at zero, where every class is as likely', () => {
  const problem = problemOf({ rows: [[1, 2]], labels: [2], classCount: 3, l2: 1 });
  const gradient = new Float64Array(6);
  expect(softmaxLoss({ problem, weights: new Float64Array(6), gradient })).toBeCloseTo(Math.log(3), 12);
  const expected = [1 / 3, 1 / 3, -2 / 3, 2 / 3, 2 / 3, -4 / 3];
  for (const [index, value] of expected.entries()) expect(gradient[index]).toBeCloseTo(value, 12);
});

it('leaves out rows of weight 0', () => {
  const both = problemOf({ rows: [[1], [1]], labels: [0, 1], classCount: 2, l2: 0.1 });
  const first = problemOf({ rows: [[1]], labels: [0], classCount: 2, l2: 0.1 });
  const weights = Float64Array.of(0.3, -0.2);
  const gradients = [new Float64Array(2), new Float64Array(2)];
  const problem = { ...both, rowWeights: Float64Array.of(1, 0) };
  expect(softmaxLoss({ problem, weights, gradient: gradients[0] })).toBe(
    softmaxLoss({ problem: first, weights, gradient: gradients[1] }),
  );
  expect(gradients[0]).toEqual(gradients[1]);
});

const minimumOf = (problem: SoftmaxProblem, tolerance = 1e-12) =>
  minimize({
    start: problem.prior,
    lossAt: (weights, gradient) => softmaxLoss({ problem, weights, gradient }),
    convexity: problem.l2,
    tolerance,
    maximumSteps: 500,
  });

it('finds the weights that can be had by hand', async () => {
  // Three of four rows are of class 0. With weights (w, −w): σ(2w) − 3/4 + l2 · w = 0, so w = 1/4 has this l2.
  const l2 = 4 * (3 / 4 - 1 / (1 + Math.exp(-0.5)));
  const { point } = await minimumOf(problemOf({ rows: [[1], [1], [1], [1]], labels: [0, 0, 0, 1], classCount: 2, l2 }));
  expect(point[0]).toBeCloseTo(0.25, 6);
  expect(point[1]).toBeCloseTo(-0.25, 6);
});

it('converges to the one optimum, from wherever it starts', async () => {
  const problem = randomProblem({});
  const near = await minimumOf(problem);
  const far = await minimize({
    start: problem.prior.map((_, index) => 5 * Math.cos(index)),
    lossAt: (weights, gradient) => softmaxLoss({ problem, weights, gradient }),
    convexity: problem.l2,
    tolerance: 1e-12,
    maximumSteps: 500,
  });
  expect(near.gap).toBeLessThan(1e-12);
  expect(near.steps).toBeLessThan(100);
  for (const [index, weight] of near.point.entries()) expect(far.point[index]).toBeCloseTo(weight, 4);
});

it('stops within the tolerance of the minimum', async () => {
  const problem = randomProblem({});
  const lossOf = (weights: Float64Array) =>
    softmaxLoss({ problem, weights, gradient: new Float64Array(weights.length) });
  const loose = await minimumOf(problem, 1e-3);
  const tight = await minimumOf(problem);
  expect(loose.steps).toBeLessThan(tight.steps);
  expect(lossOf(loose.point) - lossOf(tight.point)).toBeLessThan(1e-3);
});
