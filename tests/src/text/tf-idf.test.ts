import { describe, expect, it } from 'vitest';
import { fitTfIdf } from '../../../src/text/tf-idf.ts';

describe('fitTfIdf', () => {
  it('weighs words by count and smoothed idf, to length 1', () => {
    const tfIdf = fitTfIdf(['a b', 'a c', 'a']);
    expect(tfIdf.columns).toBe(3);
    const { indices, values } = tfIdf.rowOf('B a b @user https://t.co/x unknown');
    // a: idf ln(4/4) + 1 = 1; b twice: 2 (ln(4/2) + 1)
    const weights = [1, 2 * (Math.log(2) + 1)];
    const length = Math.hypot(...weights);
    expect([...indices]).toEqual([0, 1]);
    expect(values[0]).toBeCloseTo(weights[0] / length, 6);
    expect(values[1]).toBeCloseTo(weights[1] / length, 6);
  });

  it('has no entry for a text without known words', () => {
    expect(fitTfIdf(['a']).rowOf('z').indices).toHaveLength(0);
  });
});
