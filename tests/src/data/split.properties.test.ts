import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partSizes, splitThreads } from '../../../src/data/split.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { makeThread } from './fixtures.ts';

const runs = { seed: 21, numRuns: 200 };

const threads = fc
  .array(fc.record({ rumor: fc.constantFrom(true, false, null), event: fc.constantFrom('a', 'b', 'c', 'd', null) }), {
    minLength: 8,
    maxLength: 60,
  })
  .map((about) => about.map((options, index) => makeThread(`t${index}`, { posts: 1, ...options })));
const seed = fc.integer({ min: 0, max: 1000 });
const sizes = fc.constantFrom<Record<string, number | 'rest'>>(
  { train: 4, test: 'rest' },
  { train: 0.5, development: 0.2, test: 0.3 },
  { detector: 3, demonstrations: 0.25, test: 'rest' },
  { one: 1, two: 2, three: 3 },
);
const labelOf = (thread: Thread) => thread.rumor;
const assignedIds = (parts: Record<string, Thread[]>) =>
  Object.values(parts).flatMap((part) => part.map(({ id }) => id));

describe('any split', () => {
  it('gives every thread to at most one part, in the order of the input, of the sizes asked for', () => {
    fc.assert(
      fc.property(threads, sizes, seed, (all, parts, seed) => {
        const split = splitThreads(all, { parts, seed, stratifyBy: labelOf });
        const ids = assignedIds(split);
        expect(new Set(ids).size).toBe(ids.length);
        const expected = partSizes(parts, all.length);
        for (const [name, part] of Object.entries(split)) {
          expect(part.length).toBe(expected.get(name));
          expect(part).toEqual(all.filter((thread) => part.includes(thread)));
        }
      }),
      runs,
    );
  });

  it('holds each label in proportion, up to rounding', () => {
    fc.assert(
      fc.property(threads, sizes, seed, (all, parts, seed) => {
        const labels = [...new Set(all.map(labelOf))];
        for (const part of Object.values(splitThreads(all, { parts, seed, stratifyBy: labelOf })))
          for (const label of labels) {
            const share = all.filter((thread) => thread.rumor === label).length / all.length;
            const found = part.filter((thread) => thread.rumor === label).length;
            // Each stretch of an evenly spread line has less than one thread too many or too few of each label.
            const rounding = 1 - share + share * (labels.length - 1);
            expect(Math.abs(found - share * part.length)).toBeLessThanOrEqual(rounding + 1e-9);
          }
      }),
      runs,
    );
  });

  it('is the same for the same seed and, for most seeds, another for another', () => {
    let different = 0;
    fc.assert(
      fc.property(threads, sizes, seed, (all, parts, seed) => {
        const split = splitThreads(all, { parts, seed });
        expect(splitThreads(all, { parts, seed })).toEqual(split);
        const other = splitThreads(all, { parts, seed: seed + 1 });
        different += Number(JSON.stringify(assignedIds(other)) !== JSON.stringify(assignedIds(split)));
      }),
      runs,
    );
    expect(different).toBeGreaterThan(0.9 * runs.numRuns);
  });

  it('holds out all threads of an event and no others', () => {
    fc.assert(
      fc.property(threads, seed, (all, seed) => {
        fc.pre(all.some(({ event }) => event === 'a') && all.filter(({ event }) => event !== 'a').length >= 2);
        const split = splitThreads(all, { parts: { train: 0.5, rest: 'rest' }, seed, holdOutEvents: { test: ['a'] } });
        expect(split.test).toEqual(all.filter(({ event }) => event === 'a'));
        expect([...assignedIds(split)].sort()).toEqual(all.map(({ id }) => id).sort());
      }),
      runs,
    );
  });
});
