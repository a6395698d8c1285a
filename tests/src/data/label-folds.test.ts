import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelFolds, nestedShare, timeFolds } from '../../../src/data/label-folds.ts';
import { rumorTask } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { makeThread } from './fixtures.ts';

const labelOf = ({ rumor }: Thread) => Number(rumor);
const claim = (thread: Thread, text: string): Thread => ({
  ...thread,
  posts: thread.posts.map((post, index) => (index === 0 ? { ...post, text } : post)),
});
/** Claims that share no word. */
const threads = (count: number, event: (index: number) => string | null = () => null) =>
  Array.from({ length: count }, (_, index) =>
    claim(makeThread(`t${index}`, { rumor: index % 3 === 0, event: event(index) }), `word${index} other${index}`),
  );

describe('labelFolds', () => {
  it('tests every thread once, on folds that have every label in proportion', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 60 }), fc.integer({ min: 2, max: 6 }), fc.nat(), (count, folds, seed) => {
        const all = threads(count);
        const made = labelFolds(all, { folds, seed, labelOf });
        expect(made.flatMap(({ test }) => test.map(({ id }) => id)).sort()).toEqual(all.map(({ id }) => id).sort());
        for (const { train, test } of made) {
          expect(train.length + test.length).toBe(count);
          expect(train.filter((thread) => test.includes(thread))).toEqual([]);
          const rumors = all.filter(labelOf).length;
          expect(Math.abs(test.filter(labelOf).length - rumors / folds)).toBeLessThan(1);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('keeps events and near-duplicate claims in one fold, and those that share either', () => {
    const all = threads(40, (index) => (index < 30 ? `event ${index % 10}` : null));
    // The claim of the first thread of event 0 nearly repeats one of event 1, and that of a thread without an event.
    const said = 'the bridge in the town has fallen down today';
    const own = all.map((thread, index) =>
      index === 0 || index === 1 || index === 35 ? claim(thread, `${said} x${index}`) : thread,
    );
    const folds = labelFolds(own, { folds: 5, seed: 1, labelOf });
    const foldOf = (id: string) => folds.findIndex(({ test }) => test.some((thread) => thread.id === id));
    for (const event of [0, 1, 2, 7])
      expect(new Set([event, event + 10, event + 20].map((index) => foldOf(`t${index}`))).size).toBe(1);
    expect(new Set(['t0', 't1', 't35'].map(foldOf)).size).toBe(1);
  });

  it('divides near-duplicates that hold a rare label, so that every fold leaves two to learn from', () => {
    const rare = threads(40).map((thread, index) => ({ ...thread, rumor: index < 3 }));
    const own = rare.map((thread, index) => (index < 3 ? claim(thread, `the same few words ${index}`) : thread));
    for (const seed of [1, 2, 3])
      for (const { train } of labelFolds(own, { folds: 5, seed, labelOf }))
        expect(train.filter(labelOf).length).toBeGreaterThanOrEqual(2);
  });

  it('divides events where one is larger than a fold', () => {
    const folds = labelFolds(
      threads(20, () => 'storm'),
      { folds: 4, seed: 1, labelOf },
    );
    expect(folds.map(({ test }) => test.length)).toEqual([5, 5, 5, 5]);
  });

  it('gives the same folds for the same seed, and others for another', () => {
    const ids = (seed: number) =>
      labelFolds(threads(30), { folds: 3, seed, labelOf }).map(({ test }) => test.map(({ id }) => id));
    expect(ids(1)).toEqual(ids(1));
    expect(ids(1)).not.toEqual(ids(2));
  });

  it('refuses fewer threads than folds', () => {
    expect(() => labelFolds(threads(4), { folds: 5, seed: 1, labelOf })).toThrow(
      '4 labelled threads cannot fill 5 folds',
    );
  });
});

describe('timeFolds', () => {
  const dated = (count: number) =>
    threads(count).map((thread, index) => ({
      ...thread,
      posts: thread.posts.map((post) => ({
        ...post,
        time: new Date(Date.UTC(2021, 0, 1 + ((index * 7) % count))).toISOString(),
      })),
    }));

  it('trains on what came before, and never tests the first block', () => {
    const made = timeFolds(dated(24), { folds: 3 });
    expect(made.map(({ train, test }) => [train.length, test.length])).toEqual([
      [6, 6],
      [12, 6],
      [18, 6],
    ]);
    const time = ({ posts: [{ time }] }: Thread) => Date.parse(time ?? '');
    for (const { train, test } of made) expect(Math.max(...train.map(time))).toBeLessThan(Math.min(...test.map(time)));
  });

  it('refuses threads without times, and too few', () => {
    const timeless = threads(24).map((thread) => ({
      ...thread,
      posts: thread.posts.map((post) => ({ ...post, time: null })),
    }));
    expect(() => timeFolds(timeless, { folds: 3 })).toThrow(
      '"t0" has none; give its posts times, or set crossFitting.order',
    );
    expect(() => timeFolds(dated(7), { folds: 3 })).toThrow('7 labelled threads are too few for 3 folds');
  });
});

it('nests the shares of a learning curve, each label in proportion', () => {
  const all = threads(60);
  const [quarter, half] = [0.25, 0.5].map((share) => nestedShare(all, { share, seed: 1, task: rumorTask }));
  expect([...quarter].filter((id) => !half.has(id))).toEqual([]);
  expect([quarter.size, half.size]).toEqual([15, 30]);
  expect(all.filter((thread) => quarter.has(thread.id)).filter(labelOf)).toHaveLength(5);
});
