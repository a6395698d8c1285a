import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../../experts/asking/ask-once.ts';
import { partAsker } from '../../../experts/asking/shared-questions.ts';
import type { Judgement, Usage } from '../../../experts/detector.ts';
import type { ChatAnswer } from '../../../experts/llm/chat.ts';
import { MalformedAnswerError } from '../../../experts/llm/failures.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const part = {
  detector: 'some/part',
  version: '1',
  options: { scorer: 'm' },
  input: ['claim', 'comment'],
  threadId: 't',
  prefixLength: 2,
};
const scored: Judgement = {
  label: 'support',
  probabilities: null,
  explanation: 'r',
  transcript: [{ role: 'scorer', text: '{"score":0.5}' }],
  usage: { requests: 1, inputTokens: 2, outputTokens: 3 },
};

const answer: ChatAnswer = {
  text: 'Yes',
  logprobs: null,
  usage: { ...scored.usage, cachedInputTokens: 0 },
  latencyMs: 1,
  finishReason: 'stop',
};

/** Counts how often it is asked. */
function asker() {
  let asked = 0;
  return { ask: async () => ({ ...scored, explanation: `${++asked}` }), count: () => asked };
}

describe('parts', () => {
  it('asks once for each question, whatever thread it comes from', async () => {
    const kept = askOnceIn({ store: AnnotationStore.open(':memory:') });
    const { ask, count } = asker();
    await kept(part, ask);
    expect(await kept({ ...part, threadId: 'u', prefixLength: 5 }, ask)).toMatchObject({
      explanation: '1',
    });
    await kept({ ...part, input: ['claim', 'other'] }, ask);
    await kept({ ...part, options: { scorer: 'n' } }, ask);
    expect(count()).toBe(3);
  });

  it('survives an export and an import', async () => {
    const path = join(temporaryFolder(), 'export.jsonl');
    const first = AnnotationStore.open(':memory:');
    const { ask, count } = asker();
    await askOnceIn({ store: first })(part, ask);
    expect(await first.export(path)).toBe(1);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      request: { detector: 'some/part', input: ['claim', 'comment'] },
      rawResponse: '{"score":0.5}',
      threadId: 't',
    });
    const second = AnnotationStore.open(':memory:');
    expect(await second.import(path)).toEqual({ read: 1, added: 1 });
    await askOnceIn({ store: second })(part, ask);
    expect(count()).toBe(1);
  });

  it('keeps no failures', async () => {
    const store = AnnotationStore.open(':memory:');
    const failing = () => Promise.reject(new Error('no answer'));
    await expect(askOnceIn({ store })(part, failing)).rejects.toThrow('no answer');
    expect(store.stats().annotations).toBe(0);
  });

  it('asks once where several judgements want the same at the same time', async () => {
    const kept = askOnceIn({ store: AnnotationStore.open(':memory:') });
    const { ask, count } = asker();
    const slowly = () => delay(10).then(ask);
    const answers = await Promise.all([1, 2, 3].map(() => kept(part, slowly)));
    expect(count()).toBe(1);
    expect(new Set(answers.map(({ explanation }) => explanation))).toEqual(new Set(['1']));
  });

  it('count what they took once for who asked first where nothing is kept, and for each judgement where they are', async () => {
    const answered = { label: 'yes', explanation: '', transcript: [], answers: [answer] };
    for (const [kept, expected] of [
      [undefined, { answers: [1, 0], parts: [0, 0] }],
      [askOnceIn({ store: AnnotationStore.open(':memory:') }), { answers: [0, 0], parts: [1, 1] }],
    ] as const) {
      const askPart = partAsker(kept);
      const counts: { answers: ChatAnswer[]; parts: Usage[] }[] = [];
      for (let judgement = 0; judgement < 2; judgement++) {
        counts.push({ answers: [], parts: [] });
        expect((await askPart(part, counts[judgement], async () => answered)).label).toBe('yes');
      }
      expect(counts.map(({ answers }) => answers.length)).toEqual(expected.answers);
      expect(counts.map(({ parts }) => parts.length)).toEqual(expected.parts);
    }
  });

  it.each([true, false])('are not asked for again where they could not be read; kept: %s', async (isKept) => {
    const askPart = partAsker(isKept ? askOnceIn({ store: AnnotationStore.open(':memory:') }) : undefined);
    let asked = 0;
    const unreadable = async () => {
      asked++;
      throw new MalformedAnswerError('no JSON', { answers: [] });
    };
    for (let judgement = 0; judgement < 2; judgement++)
      await expect(askPart(part, { answers: [], parts: [] }, unreadable)).rejects.toThrow('no JSON');
    expect(asked).toBe(1);
  });
});
