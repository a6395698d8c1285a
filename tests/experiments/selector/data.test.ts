import { describe, expect, it } from 'vitest';
import { replyPlaces } from '../../../experiments/selector/data.ts';
import type { Thread } from '../../../src/data/thread.ts';

function post(id: string, parent: string | null, minute: number | null) {
  const time = minute === null ? null : new Date(Date.UTC(2024, 0, 1, 0, minute)).toISOString();
  return { id, time, author: null, parent, text: `text of ${id}`, stance: null };
}

const thread: Thread = {
  id: 't',
  event: null,
  veracity: null,
  rumor: null,
  posts: [
    post('t', null, 0),
    post('a', 't', 2),
    post('b', 'a', 30),
    post('lost', 'cut off', 40),
    post('flat', null, null),
    post('x', 'y', 50),
    post('y', 'x', 51),
  ],
};

describe('replyPlaces', () => {
  it('tells the post answered, the depth and the time, and what is not known', () => {
    expect(replyPlaces(thread)).toEqual([
      { parent: 'text of t', depth: 1, minutesSinceClaim: 2 },
      { parent: 'text of a', depth: 2, minutesSinceClaim: 30 },
      { parent: null, depth: null, minutesSinceClaim: 40 },
      { parent: null, depth: null, minutesSinceClaim: null },
      // A loop of parents leads to no claim.
      { parent: 'text of y', depth: null, minutesSinceClaim: 50 },
      { parent: 'text of x', depth: null, minutesSinceClaim: 51 },
    ]);
  });
});
