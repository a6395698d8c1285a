import { describe, expect, it } from 'vitest';
import { splitThreads } from '../../../src/data/split.ts';
import { rumorTask } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { makeThread } from './fixtures.ts';

const stratifyBy = (thread: Thread) => rumorTask.goldLabel(thread);
/** 200 threads, a quarter of them rumors, a tenth without a label; events of 80, 60, 40 and 20 threads. */
const threads = Array.from({ length: 200 }, (_, index) =>
  makeThread(`t${index}`, {
    posts: 1,
    rumor: index % 10 === 9 ? null : index % 4 === 0,
    event: index < 80 ? 'flood' : index < 140 ? 'fire' : index < 180 ? 'storm' : 'quake',
  }),
);
const ids = (part: readonly Thread[]) => part.map(({ id }) => id);
const rumors = (part: readonly Thread[]) => part.filter(({ rumor }) => rumor).length;

describe('parts of threads', () => {
  const options = {
    parts: { detector: 40, demonstrations: 20, environment: 0.25, test: 'rest' as const },
    seed: 3,
    stratifyBy,
  };

  it('are disjoint, of the sizes asked for, in the order of the input', () => {
    const parts = splitThreads(threads, options);
    expect(Object.entries(parts).map(([name, part]) => [name, part.length])).toEqual([
      ['detector', 40],
      ['demonstrations', 20],
      ['environment', 50],
      ['test', 90],
    ]);
    const all = Object.values(parts).flatMap(ids);
    expect(new Set(all).size).toBe(200);
    const position = new Map(ids(threads).map((id, index) => [id, index]));
    const positions = ids(parts.test).map((id) => position.get(id) ?? -1);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  });

  it('hold each label in proportion, up to rounding', () => {
    const share = rumors(threads) / threads.length;
    for (let seed = 0; seed < 20; seed++)
      for (const part of Object.values(splitThreads(threads, { ...options, seed })))
        expect(Math.abs(rumors(part) - share * part.length)).toBeLessThan(2);
  });

  it('are the same for the same seed and others for another', () => {
    expect(splitThreads(threads, options)).toEqual(splitThreads(threads, options));
    expect(ids(splitThreads(threads, options).detector)).not.toEqual(
      ids(splitThreads(threads, { ...options, seed: 4 }).detector),
    );
  });

  it('may leave threads over, and shares of the whole use all of it', () => {
    expect(Object.values(splitThreads(threads, { parts: { a: 10 }, seed: 1 })).flat()).toHaveLength(10);
    const odd = threads.slice(0, 5);
    const halves = splitThreads(odd, { parts: { a: 0.5, b: 0.5 }, seed: 1 });
    expect(halves.a.length + halves.b.length).toBe(5);
  });
});

describe('parts of whole events', () => {
  it('can be held out by name', () => {
    const parts = splitThreads(threads, {
      parts: { train: 'rest' },
      seed: 1,
      holdOutEvents: { test: ['fire', 'quake'] },
    });
    expect(parts.test).toHaveLength(80);
    expect(parts.train).toHaveLength(120);
    expect(parts.train.some(({ event }) => event === 'fire' || event === 'quake')).toBe(false);
  });
});

describe('a split that cannot be made', () => {
  const split = (parts: Record<string, number | 'rest'>, holdOutEvents: Record<string, string[]> = {}) =>
    splitThreads<Thread, string, string>(threads, { parts, seed: 1, holdOutEvents });

  it.each([
    [{ a: 150, b: 100 }, 'the parts need 250 threads (a: 150, b: 100) but there are 200'],
    [{ a: 200, b: 'rest' as const }, 'the parts need 201 threads (a: 200, b: at least 1) but there are 200'],
    [{ a: 'rest' as const, b: 'rest' as const }, 'the parts a and b both take the rest'],
    [{ a: 1.5 }, "the size of part a must be a count (100), a share below 1 (0.2) or 'rest'; found 1.5"],
    [{ a: -1 }, 'found -1'],
    [{ a: 0.001 }, 'the part a (0.001) would be empty: there are 200 threads'],
    [{}, 'a split needs at least one part'],
  ])('%j', (parts, message) => {
    expect(() => split(parts)).toThrow(message);
  });

  it('names the nearest event', () => {
    expect(() => split({ a: 'rest' }, { test: ['flod'] })).toThrow(
      'did you mean flood? Events: flood, fire, storm, quake',
    );
    expect(() => split({ test: 1 }, { test: ['fire'] })).toThrow('the part test has both a size and held-out events');
    expect(() => split({ a: 1 }, { b: ['fire'], c: ['fire'] })).toThrow('the event fire is held out for both b and c');
  });

  it('refuses two threads of one id', () => {
    expect(() => splitThreads([threads[0], threads[0]], { parts: { a: 1 }, seed: 1 })).toThrow(
      'two threads have the id "t0"',
    );
  });
});
