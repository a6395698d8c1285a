import { beforeAll, describe, expect, it } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { orthogonal, uniformFanIn } from '../../../src/tensor/initializers.ts';
import { Random } from '../../../src/tensor/random.ts';

const seeded = (seed: number) => Random.seeded({ seed, purpose: 'initializers' });

beforeAll(() => selectBackend('cpu'));

describe('orthogonal', () => {
  it.each([
    [64, 64],
    [100, 7],
    [7, 100],
    [5, 1],
    [1, 5],
  ])('%i × %i: the shorter side is orthonormal, times the gain', (rows, columns) => {
    const gain = Math.SQRT2;
    const matrix = orthogonal({ rows, columns, gain, random: seeded(1) });
    const at = (row: number, column: number) => matrix[row * columns + column];
    const [count, length] = rows >= columns ? [columns, rows] : [rows, columns];
    const entry = rows >= columns ? (vector: number, i: number) => at(i, vector) : at;
    for (let a = 0; a < count; a++)
      for (let b = 0; b <= a; b++) {
        let product = 0;
        for (let i = 0; i < length; i++) product += entry(a, i) * entry(b, i);
        expect(product).toBeCloseTo(a === b ? gain ** 2 : 0, 5);
      }
  });

  it('is decided by the seed', () => {
    const of = (seed: number) => [...orthogonal({ rows: 4, columns: 3, gain: 1, random: seeded(seed) })];
    expect(of(1)).toEqual(of(1));
    expect(of(1)).not.toEqual(of(2));
  });

  it('has no preferred direction', () => {
    const first = Array.from({ length: 2000 }, (_, seed) =>
      orthogonal({ rows: 3, columns: 3, gain: 1, random: seeded(seed) }),
    );
    for (let i = 0; i < 9; i++) {
      const mean = first.reduce((sum, matrix) => sum + matrix[i], 0) / first.length;
      const square = first.reduce((sum, matrix) => sum + matrix[i] ** 2, 0) / first.length;
      expect(mean).toBeCloseTo(0, 1);
      expect(square).toBeCloseTo(1 / 3, 1);
    }
  });
});

describe('uniformFanIn', () => {
  it('fills ±1/√fanIn', () => {
    const values = uniformFanIn({ rows: 50, columns: 40, fanIn: 16, random: seeded(1) });
    expect(values).toHaveLength(2000);
    expect(Math.max(...values)).toBeLessThanOrEqual(0.25);
    expect(Math.max(...values)).toBeGreaterThan(0.24);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(-0.25);
    expect(Math.min(...values)).toBeLessThan(-0.24);
    expect(values.reduce((sum, value) => sum + value, 0) / 2000).toBeCloseTo(0, 1);
  });
});
