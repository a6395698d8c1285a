import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { once, rememberedIn } from '../../../experts/annotations/remembered-calls.ts';
import type { Judgement } from '../../../experts/detector.ts';

const call = {
  detector: 'some/part',
  version: '1',
  options: { scorer: 'm' },
  input: ['claim', 'comment'],
  threadId: 't',
  prefixLength: 2,
};
const answer: Judgement = {
  label: 'support',
  probabilities: null,
  explanation: 'r',
  transcript: [{ role: 'scorer', text: '{"score":0.5}' }],
  usage: { requests: 1, inputTokens: 2, outputTokens: 3 },
};

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'earshot-remembered-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Counts how often it is asked. */
function asker() {
  let asked = 0;
  return { ask: async () => ({ ...answer, explanation: `${++asked}` }), count: () => asked };
}

describe('rememberedIn', () => {
  it('asks once for each question, whatever thread it comes from', async () => {
    const remember = rememberedIn({ store: AnnotationStore.open(':memory:') });
    const { ask, count } = asker();
    await remember.remember(call, ask);
    expect(await remember.remember({ ...call, threadId: 'u', prefixLength: 5 }, ask)).toMatchObject({
      explanation: '1',
    });
    await remember.remember({ ...call, input: ['claim', 'other'] }, ask);
    await remember.remember({ ...call, options: { scorer: 'n' } }, ask);
    expect(count()).toBe(3);
  });

  it('survives an export and an import', async () => {
    const path = join(directory, 'export.jsonl');
    const first = AnnotationStore.open(':memory:');
    const { ask, count } = asker();
    await rememberedIn({ store: first }).remember(call, ask);
    expect(await first.export(path)).toBe(1);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      request: { detector: 'some/part', input: ['claim', 'comment'] },
      rawResponse: '{"score":0.5}',
      threadId: 't',
    });
    const second = AnnotationStore.open(':memory:');
    expect(await second.import(path)).toEqual({ read: 1, added: 1 });
    await rememberedIn({ store: second }).remember(call, ask);
    expect(count()).toBe(1);
  });

  it('keeps neither failures nor what a dry run pretends', async () => {
    const store = AnnotationStore.open(':memory:');
    const failing = () => Promise.reject(new Error('no answer'));
    await expect(rememberedIn({ store }).remember(call, failing)).rejects.toThrow('no answer');
    await rememberedIn({ store, keepNew: false }).remember(call, asker().ask);
    expect(store.stats().annotations).toBe(0);
  });
});

describe('once', () => {
  it('lets all who ask at the same time share one answer, and forgets a failure', async () => {
    const known = new Map<string, Promise<number>>();
    let asked = 0;
    const ask = async () => {
      if (++asked === 1) throw new Error('first');
      return asked;
    };
    const both = await Promise.allSettled([once({ known, key: 'k', ask }), once({ known, key: 'k', ask })]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await once({ known, key: 'k', ask })).toBe(2);
    expect(await once({ known, key: 'k', ask })).toBe(2);
  });
});
