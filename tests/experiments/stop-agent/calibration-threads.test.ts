import { expect, it } from 'vitest';
import { calibrationThreads } from '../../../experiments/stop-agent/calibration-threads.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { makeThread } from '../../src/data/fixtures.ts';

/** A thread that begins so many hours after the first, with a post an hour. */
function thread(id: string, start: number, options: { posts?: number; claim?: string } = {}): Thread {
  const { posts = 4, claim = `claim of ${id}` } = options;
  const made = makeThread(id, { posts });
  return {
    ...made,
    posts: made.posts.map((post, index) => ({
      ...post,
      time: new Date((start + index) * 3_600_000).toISOString(),
      text: index === 0 ? claim : post.text,
    })),
  };
}

it('leaves out threads that may go on, by the quiet time or by the pauses within threads', () => {
  const threads = [thread('a', 0), thread('b', 1), thread('c', 95), thread('d', 96), thread('e', 100)];
  const ids = (quiet: number | null) =>
    calibrationThreads(threads, { familiar: [], quietHours: quiet }).threads.map(({ id }) => id);
  expect(calibrationThreads(threads, { familiar: [], quietHours: null })).toMatchObject({
    unfinished: 1,
    quietHours: 1,
    duplicates: 0,
  });
  expect(ids(null)).toEqual(['a', 'b', 'c', 'd']);
  expect(ids(4.5)).toEqual(['a', 'b', 'c']);
  expect(ids(0)).toEqual(['a', 'b', 'c', 'd', 'e']);
});

it('leaves out copies of known threads, and takes those without times', () => {
  const untimed = makeThread('x');
  const without = { ...untimed, posts: untimed.posts.map((post) => ({ ...post, time: null })) };
  const threads = [thread('a', 0, { claim: 'Fire!' }), thread('b', 50, { claim: ' fire! ' }), thread('c', 90), without];
  const found = calibrationThreads(threads, { familiar: [thread('k', 0, { claim: 'fire!' })], quietHours: 0 });
  expect(found.threads.map(({ id }) => id)).toEqual(['c', 'x']);
  expect(found).toMatchObject({ duplicates: 2, unfinished: 0 });
  expect(calibrationThreads([without], { familiar: [], quietHours: null })).toMatchObject({
    unfinished: 0,
    quietHours: null,
  });
});
