import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { annotate } from '../../experts/annotate.ts';
import { annotationRequest } from '../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../experts/asking/ask-once.ts';
import type { Detector, Judgement } from '../../experts/detector.ts';
import { BudgetSpentError, MalformedAnswerError } from '../../experts/llm/failures.ts';
import { prefixOf } from '../../src/data/thread.ts';
import { ProviderError } from '../../src/errors.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { numberedThreads } from './threads.ts';

const opened: AnnotationStore[] = [];
afterEach(() => {
  for (const store of opened.splice(0)) store.close();
});

function stores(count = 2): { path: string; all: AnnotationStore[] } {
  const path = `${temporaryFolder()}/judged.sqlite`;
  const all = Array.from({ length: count }, () => AnnotationStore.open(path));
  opened.push(...all);
  return { path, all };
}

function judgementOf(label: string): Judgement {
  const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
  return { label, probabilities: null, explanation: '', transcript: [{ role: 'j', text: label }], usage };
}

/** A detector of one process; all of them have the same keys. */
function detectorSaying(judge: (length: number) => Promise<Judgement>): Detector {
  const labels = ['rumor', 'non-rumor'];
  return { name: 'd', version: '1', options: {}, labels, judge: ({ posts }) => judge(posts.length) };
}

describe('annotate beside another process', () => {
  it('asks together as much as one would alone, whatever comes of it, and both have all judgements', async () => {
    const { all } = stores();
    const asked: number[] = [];
    const detector = detectorSaying(async (length) => {
      asked.push(length);
      await delay(3);
      if (length === 7) throw new MalformedAnswerError('no label', { answers: [{ text: '?', finishReason: 'stop' }] });
      return judgementOf('rumor');
    });
    const results = await Promise.all(
      all.map((store) => annotate({ threads: numberedThreads(1), detector, store, concurrency: 4 })),
    );
    expect(asked.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    for (const { sequences, unreadable, failed } of results) {
      expect({ unreadable, failed }).toEqual({ unreadable: 1, failed: 1 });
      expect([...(sequences.get('thread 1')?.predicted ?? [])]).toEqual(
        Array.from({ length: 50 }, (_, index) => (index === 6 ? -1 : 0)),
      );
    }
    expect(results[0].asked + results[1].asked).toBe(49);
  });

  it('asks what the other process failed to answer', async () => {
    const { all } = stores();
    const detectors = [
      detectorSaying(() => delay(20).then(() => Promise.reject(new ProviderError('overloaded')))),
      detectorSaying(async () => judgementOf('rumor')),
    ];
    const [first, second] = await Promise.all(
      detectors.map((detector, index) =>
        annotate({ threads: numberedThreads(1), detector, store: all[index], concurrency: 50, maxPosts: 10 }),
      ),
    );
    expect(first.failed + first.cached).toBe(10);
    expect(second).toMatchObject({ asked: 10, failed: 0 });
  });

  it('waits for nobody when it has to stop', async () => {
    const { all } = stores();
    const [thread] = numberedThreads(1);
    const detector = detectorSaying(() => delay(30).then(() => Promise.reject(new BudgetSpentError('spent'))));
    const requestOf = (length: number) => annotationRequest({ detector, prefix: prefixOf(thread, length) });
    all[1].leases?.take(all[1].keyOf(requestOf(2)));
    const result = await annotate({ threads: [thread], detector, store: all[0], maxPosts: 2, concurrency: 2 });
    expect(result).toMatchObject({ stopped: { message: 'spent' }, remaining: 2 });
    expect(all[1].leases?.take(all[1].keyOf(requestOf(1)))).toBe(true);
  });

  it('goes on with the judgement that was stored first', async () => {
    const { all } = stores();
    const [thread] = numberedThreads(1);
    const detector = detectorSaying(async () => {
      // Somebody imports another judgement of the same question meanwhile.
      const request = annotationRequest({ detector, prefix: prefixOf(thread, 1) });
      const row = { request, rawResponse: null, latencyMs: 1, threadId: 't', prefixLength: 1 };
      all[1].put({ ...row, judgement: judgementOf('non-rumor') });
      return judgementOf('rumor');
    });
    const { sequences } = await annotate({ threads: [thread], detector, store: all[0], maxPosts: 1 });
    expect([...(sequences.get(thread.id)?.predicted ?? [])]).toEqual([1]);
  });

  it('waits for nobody who is gone', async () => {
    const { path, all } = stores();
    const [thread] = numberedThreads(1);
    const detector = detectorSaying(async () => judgementOf('rumor'));
    const keys = [1, 2, 3].map((length) =>
      all[0].keyOf(annotationRequest({ detector, prefix: prefixOf(thread, length) })),
    );
    // Rows without an owner, which hung an earlier version for ever.
    for (const key of keys) all[1].leases?.take(key);
    const database = new Database(path);
    database.exec('DELETE FROM lease_owner');
    database.close();
    const result = await annotate({ threads: [thread], detector, store: all[0], maxPosts: 3 });
    expect(result).toMatchObject({ asked: 3, failed: 0, remaining: 0 });
  });

  it('asks once where two in one process share one store object', async () => {
    const [store] = stores(1).all;
    let asked = 0;
    const detector = detectorSaying(async () => {
      asked++;
      await delay(3);
      return judgementOf('rumor');
    });
    const results = await Promise.all(
      [1, 2].map(() => annotate({ threads: numberedThreads(1), detector, store, concurrency: 4 })),
    );
    expect(asked).toBe(50);
    expect(results.map(({ sequences }) => sequences.size)).toEqual([1, 1]);
  });

  it('waits for a part that the other process is asking for', async () => {
    const { all } = stores();
    let asked = 0;
    const ask = async () => {
      asked++;
      await delay(80);
      return judgementOf('rumor');
    };
    const part = { detector: 'd/part', version: '1', options: {}, input: 'i', threadId: 't', prefixLength: 1 };
    const answers = await Promise.all(all.map((store) => askOnceIn({ store })(part, ask)));
    expect(asked).toBe(1);
    expect(answers[0]).toEqual(answers[1]);
  });
});
