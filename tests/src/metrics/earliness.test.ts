import { expect, it } from 'vitest';
import { earlyRate, meanDelay, mostCommonStopShare } from '../../../src/metrics/earliness.ts';

const decisions = { postsUsed: [1, 2, 10, 3], threadPosts: [4, 2, 10, 12] };

it('ER is the mean over threads, each thread weighing the same', () => {
  expect(earlyRate(decisions)).toBeCloseTo((1 / 4 + 1 + 1 + 1 / 4) / 4, 15);
  expect(earlyRate({ ...decisions, items: Int32Array.of(0, 0, 3) })).toBeCloseTo(1 / 4, 15);
});

it('delay counts posts after the claim, and hours where they are known', () => {
  expect(meanDelay({ ...decisions, hours: [0, null, 5, null] })).toEqual({ posts: 3, hours: 2.5, threadsWithHours: 2 });
  expect(meanDelay({ ...decisions, hours: [null, null, null, null] })).toEqual({
    posts: 3,
    hours: null,
    threadsWithHours: 0,
  });
  expect(meanDelay({ ...decisions, items: [2, 2], hours: [0, 0, 5, 0] })).toEqual({
    posts: 9,
    hours: 5,
    threadsWithHours: 2,
  });
});

it('names the fixed rule an agent has fallen into', () => {
  expect(mostCommonStopShare({ postsUsed: [1, 1, 1, 7], threadPosts: [9, 3, 5, 8] })).toEqual({
    name: 'post 1',
    share: 0.75,
  });
  expect(mostCommonStopShare({ postsUsed: [9, 3, 5, 1], threadPosts: [9, 3, 5, 8] })).toEqual({
    name: 'last post',
    share: 0.75,
  });
  expect(mostCommonStopShare({ postsUsed: [3, 2, 3, 2], threadPosts: [9, 9, 9, 9] })).toEqual({
    name: 'post 2',
    share: 0.5,
  });
  expect(mostCommonStopShare({ postsUsed: [5, 5], threadPosts: [5, 5] })).toEqual({ name: 'last post', share: 1 });
  expect(mostCommonStopShare({ ...decisions, items: [0] })).toEqual({ name: 'post 1', share: 1 });
});

it('refuses no threads', () => {
  expect(() => earlyRate({ postsUsed: [], threadPosts: [] })).toThrow('there are no threads to measure earliness on');
});
