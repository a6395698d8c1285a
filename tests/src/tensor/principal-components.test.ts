import { describe, expect, it } from 'vitest';
import { principalComponents, principalScores } from '../../../src/tensor/principal-components.ts';
import { projected } from '../../../src/tensor/projection.ts';
import { Random } from '../../../src/tensor/random.ts';

const random = Random.seeded({ seed: 1, purpose: 'test rows' });
/** Spread 3 along (1, 1), 1 along (1, −1) and 0.1 along the third column, about a mean far from 0. */
const data = Float32Array.from(
  Array.from({ length: 2000 }, () => {
    const [along, across, other] = [3, 1, 0.1].map((spread) => spread * random.normal());
    return [10 + (along + across) / Math.SQRT2, -5 + (along - across) / Math.SQRT2, other];
  }).flat(),
);

describe('principal components', () => {
  it('are the directions of most variance, whatever the mean', async () => {
    const { weights, explained } = await principalComponents({ data, columns: 3 }, { components: 2 });
    const first = [0, 2, 4].map((index) => weights[index]);
    const second = [1, 3, 5].map((index) => weights[index]);
    expect(Math.abs(first[0] + first[1])).toBeCloseTo(Math.SQRT2, 2);
    expect(Math.abs(second[0] - second[1])).toBeCloseTo(Math.SQRT2, 2);
    expect(explained).toBeGreaterThan(0.998);
    expect(explained).toBeLessThan(1);
  });

  it('turn rows without changing their lengths when all are kept', async () => {
    const whole = await principalComponents({ data, columns: 3 }, { components: 3 });
    expect(whole.explained).toBeCloseTo(1, 12);
    const turned = projected(data, whole);
    for (let row = 0; row < 20; row++) {
      const length = (rows: Float32Array) => Math.hypot(...rows.subarray(3 * row, 3 * row + 3));
      expect(length(turned)).toBeCloseTo(length(data), 4);
    }
  });

  it('are of the leading columns where so many are asked for, and project only those', async () => {
    const leading = await principalComponents({ data, columns: 3 }, { components: 1, inputs: 2 });
    expect(leading).toMatchObject({ inputs: 2, components: 1 });
    const [one] = projected(Float32Array.of(1, 1), leading);
    expect(Math.abs(one)).toBeCloseTo(Math.SQRT2, 3);
  });

  it('cannot be more than the columns', async () => {
    await expect(principalComponents({ data, columns: 3 }, { components: 4 })).rejects.toThrow(
      '4 components were asked for, and there are 3 columns; ask for fewer',
    );
  });
});

describe('principal scores', () => {
  it('are what the components of the covariance give, around the mean, up to a sign', async () => {
    const some = { data: data.subarray(0, 60), columns: 3 };
    const { scores, explained } = await principalScores(some, { components: 2 });
    const components = await principalComponents(some, { components: 2 });
    const turned = projected(some.data, components);
    expect(explained).toBeCloseTo(components.explained, 6);
    for (const component of [0, 1]) {
      const theirs = Array.from({ length: 20 }, (_, row) => turned[2 * row + component]);
      const mean = theirs.reduce((sum, value) => sum + value, 0) / 20;
      const sign = Math.sign((theirs[0] - mean) * scores[0][component]);
      for (const [row, own] of scores.entries()) expect(sign * own[component]).toBeCloseTo(theirs[row] - mean, 3);
    }
  });

  it('are zero where there is nothing to tell apart', async () => {
    const none = await principalScores({ data: new Float32Array(0), columns: 4 }, { components: 2 });
    expect(none.scores).toEqual([]);
    const alike = await principalScores({ data: new Float32Array(8).fill(3), columns: 4 }, { components: 2 });
    expect(alike.scores.map((own) => [...own].map((value) => value + 0))).toEqual([
      [0, 0],
      [0, 0],
    ]);
    const one = await principalScores({ data: Float32Array.of(1, 2), columns: 2 }, { components: 2 });
    expect(one.scores[0]).toHaveLength(2);
  });
});
