import { describe, expect, it } from 'vitest';
import { salienceWeight, scMmrSchema, selectKeywords } from '../../../experts/retrieval/keywords.ts';

const paper = scMmrSchema.parse({});
const unlike = (count: number) =>
  Array.from({ length: count }, (_, i) => Array.from({ length: count }, (_, j) => (i === j ? 1 : 0)));

describe('λ_k (Eq. 5)', () => {
  it('falls from salience to diversity and stops at the floor', () => {
    // 1 − e^(0.3·1 − 2.5) = 1 − e^−2.2, and so on; at k = 8, 1 − e^−0.1 = 0.0952 is under the floor.
    expect(salienceWeight(1, paper)).toBeCloseTo(1 - 0.110803, 6);
    expect(salienceWeight(4, paper)).toBeCloseTo(1 - 0.272532, 6);
    expect(salienceWeight(6, paper)).toBeCloseTo(1 - 0.496585, 6);
    expect(salienceWeight(8, paper)).toBe(0.1);
    expect(salienceWeight(50, paper)).toBe(0.1);
  });
});

describe('SC-MMR', () => {
  it('starts with the most salient, and prefers what is unlike it to what repeats it', () => {
    const similarity = [
      [1, 0.9, 0],
      [0.9, 1, 0],
      [0, 0, 1],
    ];
    // k = 1, λ = 0.889197: candidate 1 scores 0.889197·0.78 − 0.110803·0.9 = 0.5938, candidate 2 0.889197·0.7 = 0.6224.
    // k = 2, λ = 0.850431: candidate 1 scores 0.850431·0.78 − 0.149569·0.9 = 0.5287 > 0.5 · 0.6224.
    expect(selectKeywords({ salience: [0.8, 0.78, 0.7], similarity }, paper)).toEqual([0, 2, 1]);
  });

  it('stops at the first score that is at most γ times the one before', () => {
    // Second score: 0.889197·0.45 = 0.4001 = 0.5 · 0.8002, against 0.9: stops. Against 0.8: 0.4001 > 0.4, goes on.
    expect(selectKeywords({ salience: [0.9, 0.45], similarity: unlike(2) }, paper)).toEqual([0]);
    expect(selectKeywords({ salience: [0.8, 0.45], similarity: unlike(2) }, paper)).toEqual([0, 1]);
  });

  it('takes as many keywords as told with a fixed weight, as in Figure 3', () => {
    const fixed = scMmrSchema.parse({ lambdaMax: 0.5, lambdaMin: 0.5, gamma: null, maxKeywords: 3 });
    expect([1, 4, 9].map((chosen) => salienceWeight(chosen, fixed))).toEqual([0.5, 0.5, 0.5]);
    // All alike: the second scores 0.5·0.1 − 0.5·1 < 0, which any γ would stop at.
    const alike = [1, 1, 1, 1].map(() => [1, 1, 1, 1]);
    expect(selectKeywords({ salience: [0.9, 0.1, 0.1, 0.1], similarity: alike }, fixed)).toEqual([0, 1, 2]);
  });

  it('has nothing to choose from nothing, takes the first of equals, and minds the limit', () => {
    expect(selectKeywords({ salience: [], similarity: [] }, paper)).toEqual([]);
    expect(selectKeywords({ salience: [0.5, 0.5, 0.5], similarity: unlike(3) }, paper)).toEqual([0, 1, 2]);
    const two = { ...paper, maxKeywords: 2 };
    expect(selectKeywords({ salience: [0.5, 0.5, 0.5], similarity: unlike(3) }, two)).toEqual([0, 1]);
    expect(selectKeywords({ salience: [0, 0], similarity: unlike(2) }, paper)).toEqual([0]);
  });
});
