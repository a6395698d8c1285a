import { describe, expect, it } from 'vitest';
import { fitLengthCalibration, type LengthCalibration } from '../../../src/regression/length-calibration.ts';
import { fitTemperature } from '../../../src/regression/logit-calibration.ts';

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
