import { describe, expect, it } from 'vitest';
import { EndpointUnusableError } from '../../../../experts/llm/failures.ts';
import { inTurn, lastMessage, type ScriptedReply, type ScriptedRule } from '../../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from '../service.ts';

const calls = 40;

async function askMany(rule: ScriptedRule) {
  const server = await startServer(rule);
  const endpoint = endpointAt(server, { concurrency: 4 });
  const service = quickService();
  const outcomes = await Promise.allSettled(
    Array.from({ length: calls }, (_, index) => service.chat(ask(endpoint, `question ${index}`))),
  );
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  return { server, errors };
}

const page = '<!doctype html><html><form action="/login">';

describe('an endpoint line', () => {
  it.each<[string, ScriptedReply, number, RegExp]>([
    [
      'a login page',
      { body: page },
      14,
      /^the first 10 requests all failed alike, .* gave no usable answer.*is not JSON/,
    ],
    ['a refused parameter', { status: 400, message: 'seed must be odd' }, 14, /seed must be odd/],
    ['a model that is forbidden', { status: 403, message: 'not for you' }, 14, /forbids this request/],
    ['a broken server', { status: 500, message: 'broken' }, 12, /^the first 12 .*failed with status 500/],
    ['a server that is always busy', { status: 429, message: 'busy' }, 6 * calls - 1, /limited the rate/],
    ['a server that never answers in time', { status: 408, message: 'late' }, 6 * calls - 1, /did not answer within/],
    ['what is no completion', { body: '{"status": "ok"}' }, 3 * 14, /^the first 30 requests .*gave no completion/],
    ['answers that never begin', { text: '', finishReason: 'length' }, 14, /raise maxTokens/],
  ])('ends all calls to %s', async (_name, reply, most, sentence) => {
    const { server, errors } = await askMany(() => reply);
    expect(errors).toHaveLength(calls);
    expect(errors.at(-1)).toBeInstanceOf(EndpointUnusableError);
    expect(errors.at(-1).message).toMatch(sentence);
    // Ten, and those that were under way; of what may pass as many with all their attempts, one after the other.
    expect(server.requests.length).toBeLessThanOrEqual(most);
  });

  it('lets an endpoint be that has answered once, or that fails of each text in its own way', async () => {
    const refusal: ScriptedReply = { status: 400, message: 'no' };
    const later = await askMany(inTurn(['yes', refusal]));
    expect(later.server.requests).toHaveLength(calls);
    const tooLong: ScriptedReply = { status: 400, message: 'the prompt is too long' };
    expect((await askMany(() => tooLong)).server.requests).toHaveLength(calls);
    const own = await askMany((body) => ({
      status: 400,
      message: `word ${lastMessage(body).length % 2 === 0 ? 'a' : 'b'}`,
    }));
    expect(own.errors).toHaveLength(calls);
    const filtered: ScriptedReply = { text: null, finishReason: 'content_filter' };
    expect((await askMany(() => filtered)).server.requests).toHaveLength(calls);
  });

  it('lets one request after the other find out whether a server that only failed has recovered', async () => {
    const { server, errors } = await askMany((_body, { index }) => (index < 9 ? { status: 500 } : 'yes'));
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/failed with status 500 after 6 attempts/),
    ]);
    expect(server.requests).toHaveLength(calls - 1 + 9);
  });

  it('is not put off by the busy beginning of a server', async () => {
    const { server, errors } = await askMany((_body, { index }) => (index < 5 ? { status: 503 } : 'yes'));
    expect(errors).toEqual([]);
    expect(server.requests).toHaveLength(calls + 5);
  });

  it('does not give up on a server that fails most of the time', async () => {
    const { server, errors } = await askMany((_body, { index }) => (index % 4 === 3 ? 'yes' : { status: 500 }));
    expect(errors.filter((error) => error instanceof EndpointUnusableError)).toEqual([]);
    expect(errors.length).toBeLessThan(calls / 2);
    expect(server.requests.length).toBeGreaterThan(2 * calls);
  });
});
