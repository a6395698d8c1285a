import { expect, it } from 'vitest';
import { controlRisk, smallestOnAverage } from '../../../src/metrics/conformal-risk-control.ts';
import { Random } from '../../../src/tensor/random.ts';

const thresholds = [1, 0.8, 0.6, 0.4, 0.2];

it('takes the least careful threshold at which the losses and one more are a small enough share', () => {
  const losses = [0, 0, 1, 3, 8];
  const lossesAt = (threshold: number) => losses[thresholds.indexOf(threshold)];
  // (1 + 1) / (39 + 1) is 5%, (3 + 1) / 40 is 10%.
  expect(controlRisk({ thresholds, items: 39, lossesAt, level: 0.05 })).toEqual({
    threshold: 0.6,
    items: 39,
    losses: 1,
    bound: 0.05,
  });
  expect(controlRisk({ thresholds, items: 39, lossesAt, level: 0.1 })).toMatchObject({ threshold: 0.4, bound: 0.1 });
  expect(controlRisk({ thresholds, items: 18, lossesAt, level: 0.05 })).toBe(null);
});

it('needs 19 items for 5%', () => {
  expect(smallestOnAverage({ level: 0.05 })).toBe(19);
  expect(controlRisk({ thresholds: [1], items: 19, lossesAt: () => 0, level: 0.05 })).not.toBe(null);
});

it('keeps the expected loss of a new item at the level', () => {
  const random = Random.seeded({ seed: 1, purpose: 'risk' });
  const level = 0.2;
  // An item loses from its own threshold on, so the loss of a threshold is 1 − threshold.
  const grid = Array.from({ length: 101 }, (_, index) => 1 - index / 100);
  const draws = 4000;
  let lost = 0;
  for (let draw = 0; draw < draws; draw++) {
    const items = Array.from({ length: 30 }, () => random.uniform());
    const kept = controlRisk({
      thresholds: grid,
      items: 30,
      lossesAt: (threshold) => items.filter((own) => own > threshold).length,
      level,
    });
    lost += Number(random.uniform() > (kept?.threshold ?? 1));
  }
  expect(lost / draws).toBeLessThan(level + 0.02);
  expect(lost / draws).toBeGreaterThan(level - 0.06);
});
