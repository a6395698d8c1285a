import { describe, expect, it } from 'vitest';
import { columnMoments, standardized } from '../../../src/tensor/normalizer.ts';
import { Random } from '../../../src/tensor/random.ts';

const random = Random.seeded({ seed: 1, purpose: 'normalizer' });

describe('columnMoments', () => {
  it('are the mean and the variance of each column', () => {
    const { mean, variance } = columnMoments({ data: Float32Array.of(1, 10, 3, 20, 5, 60), columns: 2 });
    expect([...mean]).toEqual([3, 30].map((value) => expect.closeTo(value, 12)));
    // ((−2)² + 0 + 2²)/3 and ((−20)² + (−10)² + 30²)/3.
    expect([...variance]).toEqual([8 / 3, 1400 / 3].map((value) => expect.closeTo(value, 10)));
  });
});

describe('standardized', () => {
  it('gives every column mean 0 and variance 1', () => {
    const rows = { data: Float32Array.from({ length: 300 }, (_, i) => 5 + (i % 3) * random.normal()), columns: 3 };
    const again = columnMoments(standardized(rows, columnMoments(rows)));
    expect([...again.mean]).toEqual([0, 0, 0].map((value) => expect.closeTo(value, 6)));
    // The first column never varies.
    expect([...again.variance]).toEqual([0, 1, 1].map((value) => expect.closeTo(value, 5)));
  });

  it('turns a column that never varies into 0, whatever its value', () => {
    const rows = { data: Float32Array.from({ length: 1000 }, () => 12345.678), columns: 1 };
    expect(standardized(rows, columnMoments(rows)).data.every((value) => value === 0)).toBe(true);
  });

  it('clips to ±10', () => {
    const moments = { mean: Float64Array.of(1), variance: Float64Array.of(4) };
    const { data } = standardized({ data: Float32Array.of(5, 1000, -1000), columns: 1 }, moments);
    expect([...data]).toEqual([2, 10, -10]);
  });
});
