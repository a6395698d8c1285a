import { describe, expect, it } from 'vitest';
import { chanceOrder, leastSure, nextChoice } from '../../../experiments/labelling/choose.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { makeThread } from '../../src/data/fixtures.ts';

const ids = Array.from({ length: 200 }, (_, index) => `t${index}`);

describe('the order by chance', () => {
  it('depends on the seed alone, and keeps its order when threads are added', () => {
    const order = chanceOrder(ids, 1);
    expect(order).not.toEqual(ids);
    expect(chanceOrder(ids.toReversed(), 1)).toEqual(order);
    expect(chanceOrder(ids, 2)).not.toEqual(order);
    expect(chanceOrder([...ids, 'new'], 1).filter((id) => id !== 'new')).toEqual(order);
  });
});

describe('the next thread', () => {
  const ranking = ['b', 'c', 'd'];
  const open = ['a', 'b', 'c'];

  it('is drawn at random thirty times, and without a ranking', () => {
    expect(nextChoice({ open, answered: 29, ranking })).toEqual({ thread: 'a', chosen: 'random', chance: 1 / 3 });
    expect(nextChoice({ open, answered: 31, ranking: [] })?.chosen).toBe('random');
  });

  it('is then the least sure one six times of ten', () => {
    const marginsOf = (from: number) =>
      Array.from({ length: 10 }, (_, index) => nextChoice({ open, answered: from + index, ranking })?.chosen).filter(
        (own) => own === 'margin',
      ).length;
    expect([30, 90, 340].map(marginsOf)).toEqual([6, 6, 6]);
    expect(nextChoice({ open, answered: 31, ranking })).toEqual({ thread: 'b', chosen: 'margin', chance: 1 });
    expect(nextChoice({ open: ['a', 'c'], answered: 31, ranking })?.thread).toBe('c');
  });

  it('is none where none is open', () => {
    expect(nextChoice({ open: [], answered: 3, ranking })).toBeNull();
  });
});

describe('the least sure threads', () => {
  const withText = (id: string, text: string): Thread => {
    const thread = makeThread(id, { posts: 1 });
    return { ...thread, posts: [{ ...thread.posts[0], text }] };
  };
  const judged =
    (sure: Readonly<Record<string, number>>) =>
    async ({ threadId }: { threadId: string }) => ({
      label: sure[threadId] > 0 ? 'yes' : 'no',
      probabilities: { yes: 0.5 + sure[threadId] / 2, no: 0.5 - sure[threadId] / 2 },
      explanation: '',
      transcript: [],
      usage: { requests: 0, inputTokens: 0, outputTokens: 0 },
    });

  it('come by their margin, and one of those whose claims repeat each other', async () => {
    const threads = [
      withText('sure', 'the dam holds'),
      withText('first', 'the bridge over the river has collapsed today'),
      withText('again', 'the bridge over the river has collapsed today !!'),
      withText('other', 'a shark swims on the motorway'),
    ];
    const judge = judged({ sure: 0.9, first: 0.1, again: -0.2, other: -0.3 });
    expect(await leastSure(threads, { judge })).toEqual({
      ranking: ['first', 'other', 'sure'],
      labels: new Map(Object.entries({ sure: 'yes', first: 'yes', again: 'no', other: 'no' })),
    });
  });
});
