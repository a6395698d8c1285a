import { describe, expect, it } from 'vitest';
import {
  lengthsUntil,
  type PrefixSchedule,
  prefixScheduleSchema,
  queriedLengths,
  scheduledLengths,
} from '../../experts/prefix-schedule.ts';

const doubling: PrefixSchedule = { name: 'geometric', start: 1, factor: 2 };
const fromThree: PrefixSchedule = { name: 'geometric', start: 3, factor: 1.5 };

describe('a schedule', () => {
  it('judges the whole thread in any case, and asks a reader who does not know its end only at its own lengths', () => {
    expect(scheduledLengths({ schedule: doubling, posts: 10 })).toEqual([1, 2, 4, 8, 10]);
    expect(queriedLengths({ schedule: doubling, posts: 10 })).toEqual([1, 2, 4, 8]);
    expect(queriedLengths({ schedule: fromThree, posts: 10 })).toEqual([3, 5, 8]);
    expect(queriedLengths({ schedule: fromThree, posts: 2 })).toEqual([]);
    expect(queriedLengths({ schedule: { name: 'every' }, posts: 3 })).toEqual([1, 2, 3]);
    expect(queriedLengths({ schedule: { name: 'lengths', lengths: [7, 2, 2] }, posts: 5 })).toEqual([2]);
    expect(queriedLengths({ schedule: { name: 'step', posts: 5 }, posts: 12 })).toEqual([1, 5, 10]);
  });

  it('asks the same of a thread whatever comes later', () => {
    for (const schedule of [doubling, fromThree])
      for (let posts = 1; posts < 30; posts++) {
        const longer = queriedLengths({ schedule, posts: 30 });
        expect(queriedLengths({ schedule, posts })).toEqual(longer.filter((length) => length <= posts));
      }
  });

  it('costs its lengths up to the stop, and the stop', () => {
    expect(lengthsUntil(6, { schedule: doubling, maxPosts: 500 })).toEqual([1, 2, 4, 6]);
    expect(lengthsUntil(8, { schedule: doubling, maxPosts: 500 })).toEqual([1, 2, 4, 8]);
    expect(lengthsUntil(6, { schedule: null, maxPosts: 500 })).toEqual([6]);
    expect(lengthsUntil(600, { schedule: doubling, maxPosts: 5 })).toEqual([1, 2, 4, 5]);
  });

  it('starts at one post unless told otherwise', () => {
    expect(prefixScheduleSchema.parse({ name: 'geometric' })).toEqual({ name: 'geometric', start: 1, factor: 1.5 });
  });
});
