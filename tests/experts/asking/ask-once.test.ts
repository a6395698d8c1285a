import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { keyOf } from '../../../experts/annotations/annotation-row.ts';
import { askOnceIn } from '../../../experts/asking/ask-once.ts';
import type { Judgement } from '../../../experts/detector.ts';
import { MalformedAnswerError } from '../../../experts/llm/failures.ts';

const question = (input: string) => {
  return { detector: 'd', version: '1', options: {}, input, threadId: 't', prefixLength: 1 };
};
const keyFor = (input: string) => keyOf({ ...question(input), sampleIndex: 0 });
const judgement = (label: string): Judgement => {
  const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
  return { label, probabilities: null, explanation: '', transcript: [], usage };
};

/** Processes with one store, and leases that all of them see. */
function processes(count: number) {
  const kept = new Map<string, Judgement>();
  const problems = new Map<string, string>();
  const leased = new Map<string, number>();
  const ending = new AbortController();
  const all = Array.from({ length: count }, (_, process) =>
    askOnceIn({
      signal: ending.signal,
      store: {
        getMany: (keys) => new Map([...kept].filter(([key]) => keys.includes(key))),
        put: ({ request, judgement }) => {
          kept.set(keyOf(request), judgement);
          return leased.delete(keyOf(request));
        },
        unreadable: {
          last: () => 0,
          find: (key) => problems.get(key) ?? null,
          put: ({ key, problem }) => problems.set(key, problem),
        },
        leases: {
          take: (key) => {
            if (leased.has(key)) return false;
            leased.set(key, process);
            return true;
          },
          release: (key) => {
            if (leased.get(key) === process) leased.delete(key);
          },
        },
      },
    }),
  );
  return { all, leased, ending };
}

describe('askOnce', () => {
  it('gives all who ask, in any process, one answer', async () => {
    const { all } = processes(2);
    let asked = 0;
    const ask = async () => {
      const answer = judgement(`answer ${++asked}`);
      await delay(15);
      return answer;
    };
    const answers = await Promise.all([...all, ...all].map((each) => each(question('a'), ask)));
    expect(answers.map(({ label }) => label)).toEqual(Array(4).fill('answer 1'));
    expect(await all[1](question('a'), ask)).toBe(answers[0]);
  });

  it('asks where the other process failed, unless the failure is kept', async () => {
    const { all, leased } = processes(2);
    const fails = () => delay(15).then(() => Promise.reject(new Error('overloaded')));
    const [first, second] = await Promise.allSettled([
      all[0](question('a'), fails),
      all[1](question('a'), async () => judgement('an answer')),
    ]);
    expect([first.status, second]).toMatchObject(['rejected', { status: 'fulfilled', value: { label: 'an answer' } }]);
    const unreadable = () =>
      delay(15).then(() => Promise.reject(new MalformedAnswerError('unreadable', { answers: [] })));
    const both = await Promise.allSettled([
      all[0](question('b'), unreadable),
      all[1](question('b'), async () => judgement('never asked')),
    ]);
    expect(both.map((each) => each.status === 'rejected' && each.reason.message)).toEqual(['unreadable', 'unreadable']);
    expect(leased.size).toBe(0);
  });

  it('waits for nobody and asks nothing new once it has ended', async () => {
    const { all, ending, leased } = processes(1);
    leased.set(keyFor('a'), 7);
    const waiting = all[0](question('a'), async () => judgement('never'));
    await delay(5);
    ending.abort(new Error('Ctrl-C'));
    await expect(waiting).rejects.toThrow('Ctrl-C');
    await expect(all[0](question('b'), async () => judgement('never'))).rejects.toThrow('Ctrl-C');
  });
});
