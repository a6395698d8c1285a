import { describe, expect, it } from 'vitest';
import { macroF1 } from '../../../src/metrics/classification.ts';
import {
  fitClassOffsets,
  fitLengthCalibration,
  fitTemperature,
  goldenSection,
  type LengthCalibration,
  logLoss,
} from '../../../src/regression/calibration.ts';
import { Random } from '../../../src/tensor/random.ts';

const random = Random.seeded({ seed: 5, purpose: 'rows' });

describe('fitTemperature', () => {
  it('finds the factor by which logits were made too large', () => {
    const count = 20_000;
    const logits = new Float64Array(count * 2);
    const own = new Float64Array(count * 2);
    for (let row = 0; row < count; row++) {
      const honest = 2 * random.normal();
      own[row * 2 + (random.uniform() < 1 / (1 + Math.exp(-honest)) ? 1 : 0)] = 1;
      logits[row * 2 + 1] = 3 * honest;
    }
    const scored = { logits, targets: own, rowWeights: new Float64Array(count).fill(1), classCount: 2 };
    const temperature = fitTemperature(scored);
    expect(temperature).toBeGreaterThan(2.7);
    expect(temperature).toBeLessThan(3.3);
    expect(logLoss(scored, temperature)).toBeLessThan(logLoss(scored, 1));
  });
});

describe('fitTemperature of few items', () => {
  it.each([
    [2, 18],
    [2, 400],
    [4, 40],
  ])('is as sure of %i classes as %i items that were all right can show', (classCount, items) => {
    // Each item has two rows, of half its weight.
    const rows = 2 * items;
    const ones = Float64Array.from({ length: rows * classCount }, (_, index) =>
      Number(index % classCount === Math.floor(index / classCount / 2) % classCount),
    );
    const scored = {
      logits: ones.map((one) => 7 * one),
      targets: ones,
      rowWeights: new Float64Array(rows).fill(0.5),
      classCount,
    };
    const own = Math.exp(7 / fitTemperature(scored));
    expect(own / (own + classCount - 1)).toBeCloseTo((items + 1) / (items + classCount), 4);
  });
});

describe('fitClassOffsets', () => {
  /** Logits of a class that is rare, too small to be seen by a grid of fixed steps: honest, so that it is seldom likeliest. */
  const rare = (classCount: number, scale: number) => {
    const rows = 600;
    const logits = new Float64Array(rows * classCount);
    const targets = new Float64Array(rows * classCount);
    const gold = Array.from({ length: rows }, (_, row) => (row % 10 === 0 ? classCount - 1 : row % (classCount - 1)));
    for (const [row, label] of gold.entries()) {
      targets[row * classCount + label] = 1;
      for (let own = 0; own < classCount; own++)
        logits[row * classCount + own] = scale * (random.normal() + (own === label ? 2 : 0));
      logits[row * classCount + classCount - 1] -= 3 * scale;
    }
    const scored = { logits, targets, rowWeights: new Float64Array(rows).fill(1), classCount };
    const scoreWith = (offsets: readonly number[]) => {
      const predicted = gold.map((_, row) => {
        const own = Array.from(offsets, (offset, label) => logits[row * classCount + label] + offset);
        return own.indexOf(Math.max(...own));
      });
      return macroF1({ gold, predicted, classes: classCount });
    };
    return { scored, scoreWith };
  };

  it.each([
    [2, 1],
    [2, 1e-3],
    [4, 1],
  ])('raises the macro-F1 of %i classes whose logits have the size %f', (classCount, scale) => {
    const { scored, scoreWith } = rare(classCount, scale);
    const offsets = fitClassOffsets(scored);
    expect(offsets[0]).toBe(0);
    expect(offsets[classCount - 1]).toBeGreaterThan(scale);
    expect(scoreWith(offsets)).toBeGreaterThan(scoreWith(offsets.map(() => 0)) + 0.05);
  });

  it('does not look at rows of weight 0', () => {
    const { scored } = rare(2, 1);
    const half = scored.rowWeights.map((weight, row) => (row < 300 ? weight : 0));
    const first = {
      logits: scored.logits.slice(0, 600),
      targets: scored.targets.slice(0, 600),
      rowWeights: half.slice(0, 300),
      classCount: 2,
    };
    expect(fitClassOffsets({ ...scored, rowWeights: half })).toEqual(fitClassOffsets(first));
  });
});

it('finds the smallest loss between two values, at an end of them too', () => {
  const search = (lossAt: (value: number) => number) => goldenSection({ low: -1, high: 3, width: 1e-6, lossAt });
  expect(search((value) => (value - 0.7) ** 2)).toBeCloseTo(0.7, 5);
  expect(search((value) => value)).toBeCloseTo(-1, 5);
  expect(search((value) => -value)).toBeCloseTo(3, 5);
});

/** Ten rows of two classes at each length, all with log-odds of 1 for the second, which is right so many times. */
function rowsOf(lengths: Readonly<Record<number, number>>, weight = 1000) {
  const rows = Object.entries(lengths).flatMap(([length, right]) =>
    Array.from({ length: 10 }, (_, row) => ({ length: Number(length), isRight: row < right })),
  );
  return {
    lengths: rows.map(({ length }) => length),
    scored: {
      logits: Float64Array.from(rows.flatMap(() => [0, 1])),
      targets: Float64Array.from(rows.flatMap(({ isRight }) => [Number(!isRight), Number(isRight)])),
      rowWeights: new Float64Array(rows.length).fill(weight),
      classCount: 2,
    },
  };
}

const factorAt = ({ scale, growth, mostPosts }: LengthCalibration, posts: number) =>
  scale * Math.min(posts, mostPosts) ** growth;
const logOdds = (share: number) => Math.log(share / (1 - share));

describe('fitLengthCalibration', () => {
  it('is as sure at each length as it is right there', () => {
    const calibration = fitLengthCalibration(rowsOf({ 1: 6, 4: 9 }));
    expect(factorAt(calibration, 1)).toBeCloseTo(logOdds(0.6), 1);
    expect(factorAt(calibration, 4)).toBeCloseTo(logOdds(0.9), 1);
    expect(calibration.growth).toBeCloseTo(Math.log(logOdds(0.9) / logOdds(0.6)) / Math.log(4), 1);
    // Between them, it is what a power makes of both.
    expect(factorAt(calibration, 2)).toBeCloseTo(Math.sqrt(logOdds(0.6) * logOdds(0.9)), 1);
  });

  it('is less sure of longer prefixes if these are right less often', () => {
    const calibration = fitLengthCalibration(rowsOf({ 1: 9, 4: 7 }));
    expect(factorAt(calibration, 1)).toBeCloseTo(logOdds(0.9), 1);
    expect(factorAt(calibration, 4)).toBeCloseTo(logOdds(0.7), 1);
  });

  it('is one temperature if all lengths are right alike', () => {
    const rows = rowsOf({ 1: 8, 2: 8, 16: 8 });
    const calibration = fitLengthCalibration(rows);
    expect(calibration.growth).toBeCloseTo(0, 2);
    expect(calibration.scale).toBeCloseTo(1 / fitTemperature(rows.scored), 2);
  });

  it('believes few items little: of two, no power', () => {
    expect(Math.abs(fitLengthCalibration(rowsOf({ 1: 6, 4: 9 }, 0.1)).growth)).toBeLessThan(0.1);
  });

  it('knows no length beyond the longest row with a weight', () => {
    const { scored, lengths } = rowsOf({ 1: 6, 4: 9, 64: 1 });
    const rowWeights = scored.rowWeights.map((weight, row) => (lengths[row] === 64 ? 0 : weight));
    const calibration = fitLengthCalibration({ scored: { ...scored, rowWeights }, lengths });
    expect(calibration).toEqual(fitLengthCalibration(rowsOf({ 1: 6, 4: 9 })));
    expect(calibration.mostPosts).toBe(4);
  });

  it('leaves single posts as one temperature calibrates them', () => {
    const rows = rowsOf({ 1: 7 });
    expect(factorAt(fitLengthCalibration(rows), 1)).toBeCloseTo(1 / fitTemperature(rows.scored), 6);
  });
});
