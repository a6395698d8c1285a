import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../../experts/asking/ask-once.ts';
import { CallJournal } from '../../../experts/asking/call-journal.ts';
import type { Judgement } from '../../../experts/detector.ts';
import { inSession } from '../../../experts/detectors/session.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../../../experts/llm/chat.ts';
import { BudgetSpentError, MalformedAnswerError } from '../../../experts/llm/failures.ts';
import { ProviderError } from '../../../src/errors.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { ask, endpointAt } from '../llm/service.ts';

const endpoint = endpointAt({ baseURL: 'http://localhost:1/v1' });
const judgement: Judgement = {
  label: 'rumor',
  probabilities: null,
  explanation: '',
  transcript: [{ role: 'judge', text: 'yes' }],
  usage: { requests: 1, inputTokens: 2, outputTokens: 3 },
};
const request = { detector: 'debate', version: '1', options: {}, input: ['claim'], sampleIndex: 0 };
const row = { request, judgement, rawResponse: null, latencyMs: 1, threadId: 't', prefixLength: 1 };

/** Answers each call with another number, or does as it is told. */
class Counting implements ChatService {
  readonly asked: string[] = [];
  instead: (request: ChatRequest) => Promise<ChatAnswer> | null = () => null;

  chat(request: ChatRequest): Promise<ChatAnswer> {
    this.asked.push(request.messages[0].content);
    return this.instead(request) ?? Promise.resolve(answerOf(`answer ${this.asked.length}`));
  }
}

function answerOf(text: string): ChatAnswer {
  const usage = { requests: 2, inputTokens: 5, cachedInputTokens: 1, outputTokens: 3 };
  const logprobs = [{ token: 'a', logprob: -0.5, top: [{ token: 'a', logprob: -0.5 }] }];
  return { text, logprobs, usage, latencyMs: 12.5, finishReason: 'stop' };
}

const opened: AnnotationStore[] = [];
afterEach(() => {
  for (const store of opened.splice(0)) store.close();
});

/** A process that keeps its calls in a store, and the texts it is answered with. */
function processOn(path: string, { retryUnreadable = false } = {}) {
  const store = AnnotationStore.open(path);
  opened.push(store);
  const service = new Counting();
  const calls = new CallJournal({ service, table: store.responses });
  const part = askOnceIn({ store, calls, retryUnreadable });
  const say = async (content: string) => (await calls.chat(ask(endpoint, content))).text;
  return { store, service, calls, part, say, key: store.keyOf(request) };
}

const storePath = () => `${temporaryFolder()}/judged.sqlite`;

function keptIn(path: string): number {
  const database = new Database(path);
  const [[kept]] = database.prepare('SELECT count(*) FROM response WHERE usable = 1').raw().all() as [number][];
  database.close();
  return kept;
}

describe('CallJournal', () => {
  it('gives another process whole answers back, and asks it only for the rest', async () => {
    const path = storePath();
    const first = processOn(path);
    const killed = first.calls.ofJudgement(first.key, async () => {
      await first.say('one');
      await first.say('two');
      return new Promise(() => {});
    });
    void killed;
    await nextTurn();
    const second = processOn(path);
    const answers = await second.calls.ofJudgement(second.key, async () => [
      await second.calls.chat(ask(endpoint, 'one')),
      await second.calls.chat(ask(endpoint, 'two')),
      await second.calls.chat(ask(endpoint, 'three')),
    ]);
    expect(answers).toEqual([answerOf('answer 1'), answerOf('answer 2'), answerOf('answer 1')]);
    expect(second.service.asked).toEqual(['three']);
  });

  it('keeps nothing of what is asked for no judgement', async () => {
    const path = storePath();
    const { say } = processOn(path);
    await say('one');
    expect(keptIn(path)).toBe(0);
  });

  it('shares no answer between judgements, nor between two who are asked alike for one', async () => {
    const path = storePath();
    const { calls, say } = processOn(path);
    const both = () => Promise.all([say('alike'), say('alike')]);
    const judged = await Promise.all([calls.ofJudgement('a', both), calls.ofJudgement('b', both)]);
    expect(new Set(judged.flat()).size).toBe(4);
    const again = processOn(path);
    const repeated = () => Promise.all([again.say('alike'), again.say('alike')]);
    expect(await again.calls.ofJudgement('a', repeated)).toEqual(judged[0]);
    expect(again.service.asked).toEqual([]);
  });

  it('keeps the calls when the judgement is stored, and none for it later', async () => {
    const path = storePath();
    const { store, calls, say, key } = processOn(path);
    await calls.ofJudgement('unfinished', () => say('one'));
    await calls.ofJudgement(key, () => say('one'));
    expect(keptIn(path)).toBe(2);
    expect(store.stats().annotations).toBe(0);
    const unstorable = { ...row, request: { ...request, options: { not: Number.NaN } } };
    expect(() => store.putMany([row, unstorable])).toThrow();
    expect(keptIn(path)).toBe(2);
    store.put(row);
    expect(keptIn(path)).toBe(2);
    // Another process that is still at the same judgement.
    const late = processOn(path);
    await late.calls.ofJudgement(key, () => late.say('two'));
    expect(keptIn(path)).toBe(2);
    expect(store.keys()).toEqual([key]);
    expect(await store.export(`${path}.jsonl`)).toBe(1);
  });

  it('lets two processes that asked the same go on with one answer', async () => {
    const path = storePath();
    const processes = [processOn(path), processOn(path)];
    // Both have found nothing before either has asked.
    const gates = processes.map(({ service }, index) => {
      let answer = () => {};
      const given = new Promise<ChatAnswer>((resolve) => {
        answer = () => resolve(answerOf(`of process ${index}`));
      });
      service.instead = () => given;
      return () => answer();
    });
    const said = processes.map(({ calls, say, key }) => calls.ofJudgement(key, () => say('one')));
    gates[1]();
    await nextTurn();
    gates[0]();
    expect(await Promise.all(said)).toEqual(['of process 1', 'of process 1']);
  });

  it('takes the answers out of use that could not be read, of a judgement or of a part, and nothing else', async () => {
    const path = storePath();
    const { service, calls, say } = processOn(path);
    const unreadable = async (...contents: string[]) => {
      const answers: ChatAnswer[] = [];
      for (const content of contents) answers.push(await calls.chat(ask(endpoint, content)));
      throw new MalformedAnswerError('no JSON', { answers });
    };
    const debate = async () => {
      await say('opening');
      await say('closing');
      await unreadable('verdict', 'repair');
    };
    await expect(calls.ofJudgement('judgement', debate)).rejects.toThrow('no JSON');
    expect(keptIn(path)).toBe(2);
    service.asked.length = 0;
    await expect(calls.ofJudgement('judgement', debate)).rejects.toThrow('no JSON');
    expect(service.asked).toEqual(['verdict', 'repair']);
    const withPart = async () => {
      await say('opening');
      await calls.ofJudgement('good part', () => say('good'));
      await calls.ofJudgement('part', () => unreadable('claims'));
    };
    service.asked.length = 0;
    await expect(calls.ofJudgement('judgement', withPart)).rejects.toThrow('no JSON');
    expect(keptIn(path)).toBe(3);
    await expect(calls.ofJudgement('judgement', withPart)).rejects.toThrow('no JSON');
    expect(service.asked).toEqual(['good', 'claims', 'claims']);
  });

  it('does not ask again for a part that could not be read, until it is told to', async () => {
    const path = storePath();
    const question = { detector: 'part', version: '1', options: {}, input: 'text', threadId: 't', prefixLength: 1 };
    const unreadable = ({ calls, part }: ReturnType<typeof processOn>) =>
      calls.ofJudgement('judgement', async () => {
        const asking = async () => {
          throw new MalformedAnswerError('no JSON', { answers: [await calls.chat(ask(endpoint, 'score'))] });
        };
        await expect(part(question, asking)).rejects.toThrow('no JSON');
      });
    const [first, second] = [processOn(path), processOn(path)];
    await unreadable(first);
    await unreadable(second);
    expect(second.service.asked).toEqual([]);
    expect(first.store.unreadable.list()).toMatchObject([{ detector: 'part', problem: 'no JSON', threadId: 't' }]);
    const again = processOn(path, { retryUnreadable: true });
    await unreadable(again);
    await unreadable(again);
    expect(again.service.asked).toEqual(['score']);
    expect(keptIn(path)).toBe(0);
  });

  it.each([new ProviderError('overloaded'), new BudgetSpentError('spent'), new Error('Ctrl-C')])(
    'keeps what was answered where a call fails: %s',
    async (failure) => {
      const path = storePath();
      const { service, calls, say } = processOn(path);
      service.instead = ({ messages }) => (messages[0].content === 'two' ? Promise.reject(failure) : null);
      const work = async () => {
        await say('one');
        await say('two');
      };
      await expect(calls.ofJudgement('judgement', work)).rejects.toThrow(failure);
      expect(keptIn(path)).toBe(1);
    },
  );

  it('waits for what a failed judgement left under way, and keeps it', async () => {
    const path = storePath();
    const { service, calls } = processOn(path);
    service.instead = ({ messages, signal }) => {
      if (messages[0].content !== 'slow') return Promise.reject(new ProviderError('overloaded'));
      return new Promise((resolve) => {
        signal?.addEventListener('abort', () => setTimeout(() => resolve(answerOf('late')), 20));
      });
    };
    const judging = calls.ofJudgement('judgement', () =>
      inSession({ service: calls, context: undefined }, ({ service: own }) =>
        Promise.all(['slow', 'fails'].map((content) => own.chat(ask(endpoint, content)))),
      ),
    );
    await expect(judging).rejects.toThrow('overloaded');
    expect(keptIn(path)).toBe(0);
    await calls.settled();
    expect(keptIn(path)).toBe(1);
  });

  it('asks again for an answer that cannot be read', async () => {
    const path = storePath();
    const { calls, say, service } = processOn(path);
    await calls.ofJudgement('judgement', () => say('one'));
    const database = new Database(path);
    for (const answer of ['{"text":', '{"text":1}']) {
      database.prepare('UPDATE response SET answer = ?').run(answer);
      service.asked.length = 0;
      expect(await calls.ofJudgement('judgement', () => say('one'))).toBe('answer 1');
      expect(service.asked).toEqual(['one']);
    }
    database.close();
  });
});
