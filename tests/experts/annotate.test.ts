import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Detector } from '../../experts/detector.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { threadOf } from './threads.ts';

/** Answers from the number of posts alone and remembers what it was asked. */
function countingDetector(options: { fail?: (posts: number) => Error | null; delayMs?: number } = {}) {
  const asked: string[] = [];
  const detector: Detector = {
    name: 'counting',
    version: '1',
    options: {},
    labels: ['non-rumor', 'rumor'],
    async judge(prefix) {
      asked.push(`${prefix.threadId}:${prefix.posts.length}`);
      if (options.delayMs !== undefined) await delay(options.delayMs);
      const failure = options.fail?.(prefix.posts.length);
      if (failure) throw failure;
      const rumor = prefix.posts.length / 10;
      return {
        label: rumor > 0.25 ? 'rumor' : 'non-rumor',
        probabilities: { rumor, 'non-rumor': 1 - rumor },
        explanation: '',
        transcript: [{ role: 'counter', text: String(prefix.posts.length) }],
        usage: { requests: 1, inputTokens: 2, outputTokens: 1 },
      };
    },
  };
  return { detector, asked };
}

const threads = ['a', 'b', 'c'].map((id, index) =>
  threadOf({ id, texts: Array.from({ length: 3 + index }, (_, post) => `${id} post ${post}`) }),
);

let directory: string;
let store: AnnotationStore;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'earshot-annotate-'));
  store = AnnotationStore.open(join(directory, 'annotations.sqlite'));
});
afterEach(() => {
  store.close();
  rmSync(directory, { recursive: true, force: true });
});

describe('annotate', () => {
  it('asks about every prefix once, and nothing the second time', async () => {
    const first = countingDetector();
    const result = await annotate({ threads, detector: first.detector, store });
    expect(first.asked).toHaveLength(3 + 4 + 5);
    expect(result).toMatchObject({ asked: 12, cached: 0, failed: 0 });
    const sequence = result.sequences.get('b');
    expect([...(sequence?.predicted ?? [])]).toEqual([0, 0, 1, 1]);
    expect(sequence?.confidence[0]).toBeCloseTo(0.9);
    expect(sequence?.probabilities[3 * 2 + 1]).toBeCloseTo(0.4);

    const second = countingDetector();
    const again = await annotate({ threads, detector: second.detector, store, concurrency: 4 });
    expect(second.asked).toEqual([]);
    expect(again).toMatchObject({ asked: 0, cached: 12, failed: 0 });
    expect(again.sequences).toEqual(result.sequences);
  });

  it('asks again when the detector or the texts differ', async () => {
    const first = countingDetector();
    await annotate({ threads: [threads[0]], detector: first.detector, store });
    const changes = [
      { detector: { ...first.detector, version: '2' } },
      { detector: { ...first.detector, options: { temperature: 1 } } },
      { threads: [threadOf({ id: 'a', texts: ['other', 'a post 1', 'a post 2'] })] },
    ];
    for (const change of changes)
      expect(await annotate({ threads: [threads[0]], detector: first.detector, store, ...change })).toMatchObject({
        asked: 3,
      });
    // The id of a thread is no part of a question.
    const renamed = { ...threads[0], id: 'renamed' };
    expect(await annotate({ threads: [renamed], detector: first.detector, store })).toMatchObject({ cached: 3 });
  });

  it('keeps what was answered before an abort and resumes there', async () => {
    const controller = new AbortController();
    const stopped = countingDetector();
    const running = annotate({
      threads,
      detector: stopped.detector,
      store,
      signal: controller.signal,
      onProgress: ({ asked }) => asked === 5 && controller.abort(new Error('interrupted by the user')),
    });
    await expect(running).rejects.toThrow('interrupted by the user');
    expect(stopped.asked).toHaveLength(5);
    expect(store.stats().annotations).toBe(5);

    const resumed = countingDetector();
    expect(await annotate({ threads, detector: resumed.detector, store })).toMatchObject({ asked: 7, cached: 5 });
    expect(new Set([...stopped.asked, ...resumed.asked]).size).toBe(12);
  });

  it('goes on after a provider’s failure, and asks again about it in the next run', async () => {
    const failing = countingDetector({ fail: (posts) => (posts === 2 ? new ProviderError('overloaded') : null) });
    const result = await annotate({ threads, detector: failing.detector, store, concurrency: 3 });
    expect(result).toMatchObject({ asked: 9, failed: 3 });
    expect(result.failures).toContainEqual({ threadId: 'a', prefixLength: 2, message: 'overloaded' });
    expect([...(result.sequences.get('a')?.predicted ?? [])]).toEqual([0, -1, 1]);
    expect(result.sequences.get('a')?.confidence[1]).toBeNaN();

    const healthy = countingDetector();
    expect(await annotate({ threads, detector: healthy.detector, store })).toMatchObject({ asked: 3, cached: 9 });
  });

  it('stops at any other error, keeping what was answered', async () => {
    const wrong = countingDetector({ fail: (posts) => (posts === 3 ? new InputError('no such model') : null) });
    await expect(annotate({ threads, detector: wrong.detector, store })).rejects.toThrow('no such model');
    expect(store.stats().annotations).toBe(2);
  });

  it('holds a judgement until the next scheduled one, and reads no more posts than told', async () => {
    const long = threadOf({ id: 'long', texts: Array.from({ length: 9 }, (_, post) => `post ${post}`) });
    const step = countingDetector();
    const schedule = { name: 'step', posts: 3 } as const;
    const result = await annotate({ threads: [long], detector: step.detector, store, schedule, maxPosts: 8 });
    expect(step.asked).toEqual(['long:1', 'long:3', 'long:6', 'long:8']);
    expect([...(result.sequences.get('long')?.predicted ?? [])]).toEqual([0, 0, 1, 1, 1, 1, 1, 1]);
    expect([...(result.sequences.get('long')?.confidence ?? [])].map((value) => Math.round(value * 10))).toEqual([
      9, 9, 3, 3, 3, 6, 6, 8,
    ]);

    const exact = countingDetector();
    await annotate({
      threads: [long],
      detector: { ...exact.detector, version: '3' },
      store,
      schedule: { name: 'lengths', lengths: [7, 4, 40, 90] },
    });
    expect(exact.asked).toEqual(['long:4', 'long:7', 'long:9']);

    const geometric = countingDetector();
    await annotate({
      threads: [long],
      detector: { ...geometric.detector, version: '2' },
      store,
      schedule: { name: 'geometric', start: 1, factor: 2 },
    });
    expect(geometric.asked).toEqual(['long:1', 'long:2', 'long:4', 'long:8', 'long:9']);
  });

  it('keeps no more judgements under way than told, and commits slow answers while it waits', async () => {
    const slow = countingDetector({ delayMs: 400 });
    let largest = 0;
    let running = 0;
    const detector: Detector = {
      ...slow.detector,
      async judge(prefix) {
        largest = Math.max(largest, ++running);
        // The first answer is quick, the others slow: it must be on disk long before they are.
        const judgement = await (prefix.posts.length === 1 ? countingDetector() : slow).detector.judge(prefix);
        running--;
        return judgement;
      },
    };
    const annotating = annotate({ threads: [threads[0]], detector, store, concurrency: 2 });
    await delay(330);
    const other = AnnotationStore.open(store.path);
    expect(other.stats().annotations).toBe(1);
    other.close();
    await annotating;
    expect(largest).toBe(2);
  });

  it('refuses repeated thread ids and impossible numbers', async () => {
    const { detector } = countingDetector();
    await expect(annotate({ threads: [threads[0], threads[0]], detector, store })).rejects.toThrow(/the id "a"/);
    await expect(annotate({ threads, detector, store, maxPosts: 0 })).rejects.toThrow(/maxPosts is 0/);
  });
});
