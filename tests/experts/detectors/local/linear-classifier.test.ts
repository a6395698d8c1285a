import { beforeAll, describe, expect, it } from 'vitest';
import { fitTemperature, logLoss } from '../../../../experts/detectors/local/calibration.ts';
import { fitLinearClassifiers, type LinearProblem } from '../../../../experts/detectors/local/linear-classifier.ts';
import { stratifiedFolds } from '../../../../experts/detectors/local/train-local-detector.ts';
import { selectBackend } from '../../../../src/tensor/backend.ts';
import { Random } from '../../../../src/tensor/random.ts';

const rows = 30;
const width = 4;
const classCount = 3;
const random = Random.seeded({ seed: 5, purpose: 'rows' });
const features = Float32Array.from({ length: rows * width }, (_, index) => (index % width === 3 ? 1 : random.normal()));
const classes = Int32Array.from({ length: rows }, (_, row) =>
  random.uniform() < 0.2 ? row % 3 : features[row * width] > 0.3 ? 1 : features[row * width + 1] > 0 ? 2 : 0,
);
/** The first rows are torn between two classes. */
const targets = Float32Array.from({ length: rows * classCount }, (_, index) => {
  const [row, label] = [Math.floor(index / classCount), index % classCount];
  const share = row < 6 ? 0.75 : 1;
  return label === classes[row] ? share : label === (classes[row] + 1) % classCount ? 1 - share : 0;
});
const rowWeights = Float32Array.from({ length: rows }, () => random.uniform());
const problems: LinearProblem[] = [
  { rowWeights, l2: 0.1 },
  { rowWeights: rowWeights.map((weight, row) => (row < 10 ? 0 : weight)), l2: 0.02 },
];

/** The symmetric multinomial loss in plain numbers, with the penalty on what differs from the mean over classes. */
function lossOf(problem: LinearProblem, weights: Float64Array): number {
  const weightOf = (label: number, feature: number) => (label === 0 ? 0 : weights[(label - 1) * width + feature]);
  const labels = [0, 1, 2];
  let loss = 0;
  for (let row = 0; row < rows; row++) {
    const logits = labels.map((label) => {
      let logit = 0;
      for (let feature = 0; feature < width; feature++)
        logit += weightOf(label, feature) * features[row * width + feature];
      return logit;
    });
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
    const expected = labels.reduce((sum, label) => sum + targets[row * classCount + label] * logits[label], 0);
    loss += problem.rowWeights[row] * (Math.log(total) - expected);
  }
  loss /= problem.rowWeights.reduce((sum, weight) => sum + weight, 0);
  for (let feature = 0; feature < width; feature++) {
    const mean = labels.reduce((sum, label) => sum + weightOf(label, feature), 0) / classCount;
    for (const label of labels) loss += (problem.l2 / 2) * (weightOf(label, feature) - mean) ** 2;
  }
  return loss;
}

describe('fitLinearClassifiers', () => {
  beforeAll(() => selectBackend('cpu'));

  it('ends where the gradient of every problem vanishes, by finite differences', async () => {
    const fit = await fitLinearClassifiers({ features, targets, classCount, problems, steps: 800 });
    const size = (classCount - 1) * width;
    for (const [index, problem] of problems.entries()) {
      const weights = Float64Array.from(fit.weights.subarray(index * size, (index + 1) * size));
      for (let entry = 0; entry < size; entry++) {
        const up = weights.slice();
        const down = weights.slice();
        up[entry] += 1e-4;
        down[entry] -= 1e-4;
        expect(Math.abs(lossOf(problem, up) - lossOf(problem, down)) / 2e-4).toBeLessThan(1e-4);
      }
    }
  });

  it('gives the logits of every row, left out or not, and fits each problem as if it were alone', async () => {
    const settings = { features, targets, classCount, steps: 50 };
    const both = await fitLinearClassifiers({ ...settings, problems });
    const alone = await fitLinearClassifiers({ ...settings, problems: [problems[1]] });
    const size = (classCount - 1) * width;
    for (let entry = 0; entry < size; entry++) expect(both.weights[size + entry]).toBeCloseTo(alone.weights[entry], 5);
    let logit = 0;
    for (let feature = 0; feature < width; feature++) logit += alone.weights[width + feature] * features[feature];
    expect(alone.logits[1]).toBeCloseTo(logit, 5);
    expect(both.logits[0 * 4 + 2 + 1]).toBeCloseTo(logit, 5);
  });
});

describe('fitTemperature', () => {
  it('finds the factor by which logits were made too large', () => {
    const count = 20_000;
    const logits = new Float32Array(count * 2);
    const own = new Float32Array(count * 2);
    for (let row = 0; row < count; row++) {
      const honest = 2 * random.normal();
      own[row * 2 + (random.uniform() < 1 / (1 + Math.exp(-honest)) ? 1 : 0)] = 1;
      logits[row * 2 + 1] = 3 * honest;
    }
    const scored = { logits, targets: own, rowWeights: new Float32Array(count).fill(1), classCount: 2 };
    const temperature = fitTemperature(scored);
    expect(temperature).toBeGreaterThan(2.7);
    expect(temperature).toBeLessThan(3.3);
    expect(logLoss(scored, temperature)).toBeLessThan(logLoss(scored, 1));
  });
});

describe('stratifiedFolds', () => {
  it('spreads every class evenly, the same way for the same seed', () => {
    const labels = Array.from({ length: 53 }, (_, index) => (index < 12 ? 1 : 0));
    const deal = (seed: number) =>
      stratifiedFolds({ classes: labels, folds: 5, random: Random.seeded({ seed, purpose: 'folds' }) });
    const folds = deal(1);
    for (const label of [0, 1]) {
      const sizes = [0, 1, 2, 3, 4].map(
        (fold) => labels.filter((own, index) => own === label && folds[index] === fold).length,
      );
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }
    expect(deal(1)).toEqual(folds);
    expect(deal(2)).not.toEqual(folds);
  });
});
