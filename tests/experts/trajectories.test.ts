import { describe, expect, it } from 'vitest';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import {
  conservativeStop,
  type Demonstration,
  demonstrationsOf,
  type ExpertName,
  earlyActionStop,
  misleadingStop,
  selectDemonstrations,
  trajectoriesSchema,
} from '../../experts/trajectories.ts';
import { Random } from '../../src/tensor/random.ts';

describe('the three experts', () => {
  // Gold label 1 throughout.
  it.each<[string, { predicted: number[]; ce: number | null; eae: number | null; me: number | null }]>([
    ['always right', { predicted: [1, 1, 1], ce: 0, eae: 0, me: null }],
    ['right from the third post', { predicted: [0, 0, 1, 1], ce: 2, eae: 2, me: null }],
    ['flips and ends right', { predicted: [0, 1, 0, 1, 1], ce: 3, eae: 1, me: null }],
    ['right at the very end only', { predicted: [0, 0, 1], ce: 2, eae: 2, me: null }],
    ['flips and ends wrong', { predicted: [0, 1, 0, 0], ce: null, eae: 1, me: 2 }],
    ['never right', { predicted: [0, 0, 0], ce: null, eae: null, me: 0 }],
    ['never right, changing its mind', { predicted: [0, 2, 2], ce: null, eae: null, me: 1 }],
    ['unparsable in the middle, right', { predicted: [1, 1, -1, 1], ce: 3, eae: 0, me: null }],
    ['unparsable in the middle, wrong', { predicted: [0, -1, 0, 0], ce: null, eae: null, me: 2 }],
    ['unparsable at the start', { predicted: [-1, 1, 1], ce: 1, eae: 1, me: null }],
    ['unparsable at the end, right before', { predicted: [0, 1, -1], ce: null, eae: 1, me: null }],
    ['unparsable at the end, wrong before', { predicted: [0, 0, -1], ce: null, eae: null, me: null }],
    ['never parsable', { predicted: [-1, -1], ce: null, eae: null, me: null }],
    ['one post, right', { predicted: [1], ce: 0, eae: 0, me: null }],
    ['one post, wrong', { predicted: [0], ce: null, eae: null, me: 0 }],
    ['one post, unparsable', { predicted: [-1], ce: null, eae: null, me: null }],
  ])('stop where the paper says: %s', (_, { predicted, ce, eae, me }) => {
    const judgements = Int8Array.from(predicted);
    expect(conservativeStop(judgements, 1)).toBe(ce);
    expect(earlyActionStop(judgements, 1)).toBe(eae);
    expect(misleadingStop(judgements, 1)).toBe(me);
  });
});

function sequenceOf(threadId: string, predicted: number[]): JudgementSequence {
  return {
    threadId,
    labels: ['false', 'true'],
    predicted: Int8Array.from(predicted),
    confidence: new Float32Array(predicted.length),
    probabilities: new Float32Array(2 * predicted.length),
  };
}

describe('demonstrationsOf', () => {
  const threads = [
    { sequence: sequenceOf('flips', [0, 1, 0, 1]), label: 1 },
    { sequence: sequenceOf('short', [1, 1]), label: 1 },
    { sequence: sequenceOf('steady', [1, 1, 1]), label: 1 },
    { sequence: sequenceOf('misled', [1, 0, 0]), label: 1 },
  ];
  const flips: Demonstration[] = [
    { expert: 'conservative', threadId: 'flips', stopStep: 3, length: 4 },
    { expert: 'earlyAction', threadId: 'flips', stopStep: 1, length: 4 },
  ];
  const misled: Demonstration[] = [
    { expert: 'earlyAction', threadId: 'misled', stopStep: 0, length: 3 },
    { expert: 'misleading', threadId: 'misled', stopStep: 1, length: 3 },
  ];

  it('drops early-action trajectories that equal the conservative one, and threads under three posts', () => {
    expect(demonstrationsOf(threads, trajectoriesSchema.parse({}))).toEqual([
      ...flips,
      { expert: 'conservative', threadId: 'steady', stopStep: 0, length: 3 },
      ...misled,
    ]);
  });

  it('keeps them all when told to', () => {
    const config = trajectoriesSchema.parse({ keepEarlyAction: 'all', minPosts: 2 });
    expect(demonstrationsOf(threads, config)).toEqual([
      ...flips,
      { expert: 'conservative', threadId: 'short', stopStep: 0, length: 2 },
      { expert: 'earlyAction', threadId: 'short', stopStep: 0, length: 2 },
      { expert: 'conservative', threadId: 'steady', stopStep: 0, length: 3 },
      { expert: 'earlyAction', threadId: 'steady', stopStep: 0, length: 3 },
      ...misled,
    ]);
  });
});

describe('selectDemonstrations', () => {
  const many = (expert: ExpertName, count: number): Demonstration[] =>
    Array.from({ length: count }, (_, i) => ({ expert, threadId: `${expert} ${i}`, stopStep: 0, length: 3 }));
  const demonstrations = [...many('misleading', 40), ...many('conservative', 70), ...many('earlyAction', 30)];
  const weights = { alpha: 0.7, beta: 0.15, gamma: 0.1 };
  const select = (config: object, seed = 1, own = demonstrations) => {
    const random = Random.seeded({ seed, purpose: 'select' });
    const shuffle = (length: number) => random.permutation(length);
    return selectDemonstrations(own, trajectoriesSchema.parse(config), { weights, shuffle });
  };
  const countOf = (selected: Demonstration[], expert: ExpertName) =>
    selected.filter((demonstration) => demonstration.expert === expert).length;

  it('takes 50 conservative trajectories at most, each once, and all others', () => {
    const selected = select({});
    expect(countOf(selected, 'conservative')).toBe(50);
    expect(countOf(selected, 'earlyAction')).toBe(30);
    expect(countOf(selected, 'misleading')).toBe(40);
    expect(new Set(selected.map(({ threadId }) => threadId)).size).toBe(120);
  });

  it('fills the other sets in the ratio of the weights, counted as in the published code', () => {
    const selected = select({ ratio: 'weights' });
    expect(countOf(selected, 'conservative')).toBe(50);
    // ⌊50 / 0.7⌋ = 71 in all, so 21 others; the misleading share of them is ⌊0.4 · 21⌋ = 8.
    expect(countOf(selected, 'misleading')).toBe(8);
    expect(countOf(selected, 'earlyAction')).toBe(13);
    expect(new Set(selected.map(({ threadId }) => threadId)).size).toBe(71);
  });

  it('takes at least one of each other set, however few are conservative', () => {
    const few = [...many('conservative', 1), ...many('earlyAction', 5), ...many('misleading', 5)];
    const selected = select({ ratio: 'weights' }, 1, few);
    expect([countOf(selected, 'earlyAction'), countOf(selected, 'misleading')]).toEqual([1, 1]);
  });

  it('keeps a small set whole and in order', () => {
    const few = [...many('conservative', 3), ...many('earlyAction', 1)];
    expect(select({ ratio: 'weights' }, 1, few)).toEqual(few);
  });

  it('chooses by the seed alone', () => {
    expect(select({ ratio: 'weights' }, 7)).toEqual(select({ ratio: 'weights' }, 7));
    expect(select({ ratio: 'weights' }, 7)).not.toEqual(select({ ratio: 'weights' }, 8));
  });

  it('can choose any of a set, not just its head', () => {
    const chosen = new Set(
      Array.from({ length: 20 }, (_, seed) => select({}, seed)).flatMap((selected) =>
        selected.filter(({ expert }) => expert === 'conservative').map(({ threadId }) => threadId),
      ),
    );
    expect(chosen.size).toBe(70);
  });
});
