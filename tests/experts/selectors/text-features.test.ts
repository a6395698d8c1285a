import { expect, it } from 'vitest';
import { textFeatures } from '../../../experts/selectors/text-features.ts';

it('weighs words by count and smoothed idf, to length 1, before a constant', () => {
  const texts = ['B a b @user https://t.co/x unknown', 'z'];
  const { columns, starts, indices, values } = textFeatures(texts, ['a b', 'a c', 'a']);
  expect(columns).toBe(4);
  expect([...starts]).toEqual([0, 3, 4]);
  expect([...indices]).toEqual([0, 1, 3, 3]);
  // a: idf ln(4/4) + 1 = 1; b twice: 2 (ln(4/2) + 1)
  const weights = [1, 2 * (Math.log(2) + 1)];
  for (const [place, weight] of weights.entries())
    expect(values[place]).toBeCloseTo(weight / Math.hypot(...weights), 6);
  expect([values[2], values[3]]).toEqual([1, 1]);
});
