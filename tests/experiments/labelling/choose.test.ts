import { describe, expect, it } from 'vitest';
import {
  agreesWithPeople,
  chanceOrder,
  leastSure,
  marksOf,
  nextChoice,
  startOf,
} from '../../../experiments/labelling/choose.ts';
import { tasks } from '../../../src/data/task.ts';
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

  it('is drawn at random forty times, and without a ranking', () => {
    expect(nextChoice({ open, answered: 39, ranking })).toEqual({ thread: 'a', chosen: 'random', chance: 1 / 3 });
    expect(nextChoice({ open, answered: 41, ranking: [] })?.chosen).toBe('random');
  });

  it('is then the least sure one six times of ten', () => {
    const marginsOf = (from: number) =>
      Array.from({ length: 10 }, (_, index) => nextChoice({ open, answered: from + index, ranking })?.chosen).filter(
        (own) => own === 'margin',
      ).length;
    expect([40, 90, 340].map(marginsOf)).toEqual([6, 6, 6]);
    expect(nextChoice({ open, answered: 41, ranking })).toEqual({ thread: 'b', chosen: 'margin', chance: 1 });
    expect(nextChoice({ open: ['a', 'c'], answered: 41, ranking })?.thread).toBe('c');
  });

  it('is none where none is open', () => {
    expect(nextChoice({ open: [], answered: 3, ranking })).toBeNull();
  });
});

const times = <const T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

describe('the start', () => {
  it('has three quarters of the labels before the first choice', () => {
    expect(startOf(times(40, 'random'))).toBe(30);
    expect(startOf([...times(40, 'random'), 'margin', ...times(20, 'random')])).toBe(30);
    expect(startOf([...times(59, 'random'), 'again', 'random', 'margin'])).toBe(45);
    expect(startOf([])).toBe(0);
  });

  it('only trains once twice as many were drawn and others were chosen', () => {
    const places = Array.from({ length: 100 }, (_, place) => `${place}`);
    const countsOf = (answered: number, chosen: Parameters<typeof startOf>[0]) => {
      const marks = [...marksOf(places, { seen: new Set(places.slice(0, answered)), chosen }).values()];
      return ['start', 'random', 'margin'].map((mark) => marks.filter((each) => each === mark).length);
    };
    expect(countsOf(80, times(80, 'random'))).toEqual([0, 80, 20]);
    expect(countsOf(59, [...times(40, 'random'), 'margin', ...times(19, 'random')])).toEqual([0, 59, 41]);
    expect(countsOf(60, [...times(40, 'random'), 'margin', ...times(20, 'random')])).toEqual([30, 30, 40]);
  });
});

describe('a detector agrees with people', () => {
  const ofClass = (place: number) => ({ ...makeThread(`t${place}`, { posts: 1 }), rumor: place % 2 === 0 });
  const saying = (labelOf: (place: number) => 'rumor' | 'non-rumor' | undefined) => ({
    judge: async ({ threadId }: { threadId: string }) => {
      const label = labelOf(Number(threadId.slice(1)));
      return label === undefined ? undefined : { label, probabilities: {} };
    },
  });
  const agrees = (labelOf: (place: number) => 'rumor' | 'non-rumor' | undefined, threads = 20) =>
    agreesWithPeople(
      Array.from({ length: threads }, (_, place) => ofClass(place)),
      { detector: saying(labelOf), task: tasks.rumor },
    );
  const right = (place: number) => (place % 2 === 0 ? 'rumor' : 'non-rumor');

  it('from a kappa of 0.2 on', async () => {
    // Of 20, 13 right is a kappa of 0.3, and 11 right is 0.1.
    expect(await agrees((place) => right(place < 13 ? place : place + 1))).toBe(true);
    expect(await agrees((place) => right(place < 11 ? place : place + 1))).toBe(false);
    expect(await agrees(() => 'rumor')).toBe(false);
  });

  it('or nothing is known of it, with fewer than ten judged labels', async () => {
    expect(await agrees(right, 9)).toBeNull();
    expect(await agrees((place) => (place < 9 ? right(place) : undefined))).toBeNull();
    expect(await agrees(right, 10)).toBe(true);
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
