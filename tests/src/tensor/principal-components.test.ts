import { describe, expect, it } from 'vitest';
import { principalComponents, projected } from '../../../src/tensor/principal-components.ts';
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
