import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/tensor/random.ts';

const seeded = (seed: number, purpose = 'test') => Random.seeded({ seed, purpose });
const uniforms = (random: Random, count = 20) => Array.from({ length: count }, () => random.uniform());

describe('Random', () => {
  it('draws the same from the same seed and purpose, something else from any other', () => {
    expect(uniforms(seeded(1))).toEqual(uniforms(seeded(1)));
    expect(uniforms(seeded(1))).not.toEqual(uniforms(seeded(2)));
    expect(uniforms(seeded(1))).not.toEqual(uniforms(seeded(1, 'other')));
    // Seed and purpose must not run together: 1, "2…" is not 12, "…".
    expect(uniforms(seeded(1, '2'))).not.toEqual(uniforms(seeded(12, '')));
  });

  it('has seed 0 like any other', () => {
    expect(uniforms(seeded(0))).toEqual(uniforms(seeded(0)));
  });

  it('goes on from a saved state, through JSON, after any kind of draw', () => {
    const random = seeded(3);
    for (const draw of [
      () => random.uniform(),
      () => random.normal(),
      () => random.integer(7),
      () => random.permutation(5),
    ]) {
      draw();
      const restored = Random.fromState(JSON.parse(JSON.stringify(random.state())));
      const copy = Random.fromState(random.state());
      expect(Array.from({ length: 9 }, () => restored.normal())).toEqual(
        Array.from({ length: 9 }, () => copy.normal()),
      );
    }
    const state = random.state();
    const ahead = uniforms(random);
    expect(uniforms(Random.fromState(state))).toEqual(ahead);
  });

  it('has streams that are uncorrelated, by seed and by purpose', () => {
    const count = 4000;
    const streams = [seeded(1), seeded(2), seeded(1, 'other'), seeded(0)].map((random) => uniforms(random, count));
    for (const [i, a] of streams.entries())
      for (const b of streams.slice(i + 1)) {
        const covariance = a.reduce((sum, value, k) => sum + (value - 0.5) * (b[k] - 0.5), 0) / count;
        // Standard deviation of the correlation is 1/√4000 = 0.016.
        expect(Math.abs(covariance * 12)).toBeLessThan(0.08);
      }
  });

  it('draws uniforms, normals and integers with the right moments', () => {
    const random = seeded(5);
    const count = 20_000;
    const of = (draw: () => number) => {
      const values = Array.from({ length: count }, draw);
      const mean = values.reduce((sum, value) => sum + value / count, 0);
      return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2 / count, 0), values };
    };
    const uniform = of(() => random.uniform());
    expect(uniform.mean).toBeCloseTo(0.5, 1);
    expect(uniform.variance).toBeCloseTo(1 / 12, 2);
    expect(uniform.values.every((value) => value >= 0 && value < 1)).toBe(true);
    const normal = of(() => random.normal());
    expect(Math.abs(normal.mean)).toBeLessThan(0.04);
    expect(Math.abs(normal.variance - 1)).toBeLessThan(0.05);
    const integer = of(() => random.integer(3));
    expect(new Set(integer.values)).toEqual(new Set([0, 1, 2]));
    expect(Math.abs(integer.mean - 1)).toBeLessThan(0.03);
  });

  it('permutes: each index once, each order as often', () => {
    const random = seeded(6);
    expect([...random.permutation(100)].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(random.permutation(0)).toHaveLength(0);
    expect([...random.permutation(1)]).toEqual([0]);
    const counts = new Map<string, number>();
    for (let i = 0; i < 6000; i++) {
      const order = random.permutation(3).join('');
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    // 1000 ± 29.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  it('shuffles a copy', () => {
    const items = ['a', 'b', 'c', 'd', 'e'];
    const shuffled = seeded(7).shuffled(items);
    expect(items).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect([...shuffled].sort()).toEqual(items);
  });
});
