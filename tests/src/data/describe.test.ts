import { expect, it } from 'vitest';
import { describeOverlaps, describeThreads, describing } from '../../../src/data/describe.ts';
import { threadSchema } from '../../../src/data/thread.ts';
import { makeThread } from './fixtures.ts';

it('counts labels, lengths, spans and gaps', () => {
  const gaps = threadSchema.parse({
    id: 'g',
    labels: { claim: 1 },
    posts: [
      { id: 'g', text: 'Text 0 of  A https://t.co/x', time: '2020-01-02T00:00:00Z' },
      { id: 'h', text: ' ', time: '2020-01-01T00:00:00Z', stance: 'deny' },
      { id: 'i', text: 'b', time: null },
    ],
  });
  const threads = [makeThread('a', { posts: 1, event: 'flood' }), makeThread('b', { posts: 5, rumor: false }), gaps];
  expect(describeThreads(threads)).toEqual({
    threads: 3,
    posts: 9,
    rumor: { rumor: 1, 'non-rumor': 1, null: 1 },
    veracity: { null: 3 },
    stance: { null: 8, deny: 1 },
    event: { null: 2, flood: 1 },
    split: { null: 3 },
    labels: { claim: { 1: 1 } },
    postsPerThread: { mean: 3, min: 1, quantile10: 1.4, median: 3, quantile90: 4.6, max: 5 },
    spanHours: { mean: 2, min: 0, quantile10: 0.4, median: 2, quantile90: 3.6, max: 4 },
    postsWithoutTime: 1,
    postsWithoutText: 1,
    threadsUnder3Posts: 1,
    postsBeforeClaim: 1,
    repeatedClaimTexts: 1,
    repeatedPostTexts: 1,
  });
});

it('describes nothing without dividing by it', () => {
  expect(describeThreads([])).toMatchObject({ threads: 0, postsPerThread: null, spanHours: null });
});

it('finds what files share', () => {
  const files = [
    { name: 'one', threads: [makeThread('a'), makeThread('b')] },
    { name: 'two', threads: [makeThread('b'), makeThread('c')] },
    { name: 'three', threads: [makeThread('d')] },
  ].map(({ name, threads }) => {
    const described = describing();
    for (const thread of threads) described.add(thread);
    return { name, ...described };
  });
  expect(describeOverlaps(files)).toEqual([{ files: ['one', 'two'], sharedIds: 1, sharedClaimTexts: 1 }]);
});
