import { expect, it } from 'vitest';
import { keptRows } from '../../../src/data/importers/table/threaded-rows.ts';

const labels = { rumor: null, veracity: null, event: null, split: undefined, label: null, column: null };

it('gives back rows as they were, however long, and keeps what they share once', () => {
  const texts = ['line\nbreak', '\ud800 half of a pair, 微博', 'x'.repeat(2e7), 'after the long one'];
  const rows = texts.map((text, place) => ({
    place: place === 1 ? 'elsewhere' : `posts.csv:${place}`,
    threadId: place === 3 ? null : 't',
    post: {
      id: place === 0 ? null : `p${place}`,
      time: null,
      author: null,
      parent: 't',
      text,
      stance: 'deny' as const,
    },
    labels: { ...labels },
  }));
  const kept = keptRows();
  for (const row of rows) kept.add(row, 'posts.csv');
  expect(rows.map((_, place) => kept.get(place))).toEqual(rows);
  expect(kept.get(1).labels).toBe(kept.get(0).labels);
});
