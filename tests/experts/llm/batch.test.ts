import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { batchesOf, batchLine, batchOutcomes, runBatch } from '../../../experts/llm/batch.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { Random } from '../../../src/tensor/random.ts';
import { lastMessage, type ScriptedReply } from '../../llm-server/scripted-rule.ts';
import { ask, endpointAt, startServer } from './service.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'earshot-batch-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function setUp() {
  const server = await startServer((body): ScriptedReply | string => {
    if (lastMessage(body) === 'bad') return { status: 400, message: 'bad question' };
    return lastMessage(body) === 'mute' ? { text: '' } : `about ${lastMessage(body)}`;
  });
  const endpoint = endpointAt(server);
  const items = ['a', 'bad', 'mute', 'b'].map((content) => ({
    customId: `id-${content}`,
    request: ask(endpoint, content),
  }));
  const options = {
    endpoint,
    items,
    directory: join(directory, 'batch'),
    random: Random.seeded({ seed: 1, purpose: 'jitter' }),
    pollMs: 1,
    retry: { baseMs: 1, maxAttempts: 3 },
    env: {},
  };
  return { server, options };
}

describe('runBatch', () => {
  it('writes, submits, waits and gives every answer or problem under its id', async () => {
    const { server, options } = await setUp();
    const statuses: string[] = [];
    const outcomes = await runBatch({ ...options, onStatus: (status) => statuses.push(status) });
    expect([...outcomes.keys()]).toEqual(['id-a', 'id-bad', 'id-mute', 'id-b']);
    expect(outcomes.get('id-a')).toMatchObject({
      answer: { text: 'about a', usage: { requests: 1, outputTokens: 2 } },
    });
    expect(outcomes.get('id-b')).toMatchObject({ answer: { text: 'about b' } });
    expect(outcomes.get('id-bad')).toEqual({
      problem: 'status 400: bad question; if it refuses a parameter, change that of the endpoint',
    });
    expect(outcomes.get('id-mute')).toEqual({ problem: 'the answer is empty (finish reason stop)' });
    expect(statuses).toEqual(['in_progress', 'completed']);
    expect(server.batches.uploads).toBe(1);
    const [line] = readFileSync(join(options.directory, 'requests.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(line)).toMatchObject({
      custom_id: 'id-a',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'tiny', messages: [{ role: 'user', content: 'a' }] },
    });
    expect(existsSync(join(options.directory, 'output.jsonl'))).toBe(true);
  });

  it('goes on where it was stopped, without submitting again', async () => {
    const { server, options } = await setUp();
    server.batches.pollsUntilDone = 1000;
    const abort = new AbortController();
    const stopped = runBatch({
      ...options,
      signal: abort.signal,
      onStatus: () => abort.abort(new Error('Ctrl-C')),
    });
    await expect(stopped).rejects.toThrow('Ctrl-C');
    server.batches.pollsUntilDone = 1;
    expect((await runBatch(options)).get('id-a')).toMatchObject({ answer: { text: 'about a' } });
    expect(server.batches).toMatchObject({ uploads: 1, created: 1 });
  });

  it('does not create a batch twice when the answer to its creation is lost', async () => {
    const { server, options } = await setUp();
    server.batches.lostCreations = 1;
    expect((await runBatch(options)).size).toBe(4);
    expect(server.batches.created).toBe(1);
  });

  it('reports a failed batch, and items without an answer in an expired one', async () => {
    const { server, options } = await setUp();
    server.batches.finalStatus = 'failed';
    const failed = runBatch(options);
    await expect(failed).rejects.toThrow(ProviderError);
    await expect(failed).rejects.toThrow(
      /failed batch batch-1: scripted batch failure; it costs nothing: fix what that names, /,
    );
    server.batches.finalStatus = 'expired';
    expect((await runBatch(options)).get('id-a')).toEqual({
      problem: 'the batch ended (expired) without an answer to it',
    });
  });

  it('keeps requests of different batches apart', async () => {
    const { options } = await setUp();
    await runBatch(options);
    const others = runBatch({ ...options, items: options.items.slice(1) });
    await expect(others).rejects.toThrow(InputError);
    await expect(others).rejects.toThrow(/holds batch batch-1 of other requests/);
    // As version 0.2 wrote it.
    const { baseURL } = options.endpoint;
    const older = {
      formatVersion: 1,
      requestsHash: 'r',
      baseURL,
      inputFileId: 'f',
      batchId: 'b',
      status: 'in_progress',
    };
    writeFileSync(join(options.directory, 'batch-state.json'), JSON.stringify(older));
    await expect(runBatch(options)).rejects.toThrow(/or let the version that submitted it collect it$/);
    writeFileSync(join(options.directory, 'batch-state.json'), '{');
    await expect(runBatch(options)).rejects.toThrow(
      /batch-state.json .*is damaged .*: delete it to submit the batch again/,
    );
  });

  it('splits requests at the limits of endpoints', () => {
    const endpoint = endpointAt({ baseURL: 'http://localhost:1/v1' });
    const item = (content: string, index: number) => ({ customId: `id-${index}`, request: ask(endpoint, content) });
    const sizes = (contents: readonly string[]) => batchesOf(contents.map(item)).map(({ length }) => length);
    expect(sizes([])).toEqual([]);
    expect(sizes(new Array(50_001).fill('a'))).toEqual([50_000, 1]);
    expect(sizes(new Array(3).fill('a'.repeat(8e7)))).toEqual([2, 1]);
  });

  it('asks by a schema only where plain text would not do, since no refusal can be learnt from', async () => {
    const { options } = await setUp();
    const { endpoint } = options;
    const formatOf = (isPlainTextEnough: boolean) => {
      const request = ask(endpoint, { jsonSchema: { name: 's', schema: { type: 'object' }, isPlainTextEnough } });
      return JSON.parse(batchLine({ customId: 'x', request })).body.response_format;
    };
    expect(formatOf(true)).toBeUndefined();
    expect(formatOf(false)).toEqual({ type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } });
  });

  it('loses one item, not all, to a line that is not what the protocol says', () => {
    const endpoint = endpointAt({ baseURL: 'http://localhost:1/v1' });
    const items = ['a', 'b', 'c', 'd'].map((each) => ({ customId: `id-${each}`, request: ask(endpoint, each) }));
    const line = (id: string, rest: object) => JSON.stringify({ custom_id: id, ...rest });
    const body = { choices: [{ message: { content: 'about a' }, finish_reason: 'stop' }] };
    const lines = [
      line('id-a', { response: { status_code: 200, body } }),
      line('id-b', { response: null, error: { code: 'batch_expired', message: null } }),
      line('id-c', { response: { status_code: 500 } }),
      '<html>',
      '{"custom_id": 7}',
    ];
    const outcomes = batchOutcomes({ items, lines, status: 'completed' });
    expect(outcomes.get('id-a')).toMatchObject({ answer: { text: 'about a' } });
    expect(outcomes.get('id-b')).toEqual({ problem: '{"code":"batch_expired","message":null}' });
    expect(outcomes.get('id-c')).toEqual({ problem: 'status 500: (no body)' });
    expect(outcomes.get('id-d')).toEqual({ problem: 'the batch ended (completed) without an answer to it' });
    expect(() => batchOutcomes({ items, lines: ['<html>'], status: 'completed' })).toThrow(
      /output is not what the batch protocol says: <html>/,
    );
  });

  it('takes none of two different lines for one item', () => {
    const endpoint = endpointAt({ baseURL: 'http://localhost:1/v1' });
    const items = ['a', 'b'].map((each) => ({ customId: `id-${each}`, request: ask(endpoint, each) }));
    const line = (id: string, content: string) => {
      const body = { choices: [{ message: { content }, finish_reason: 'stop', logprobs: null }] };
      return JSON.stringify({ custom_id: id, response: { status_code: 200, body } });
    };
    const python = line('id-b', 'Yes').replace('"logprobs":null', '"logprobs": {"content": [{"logprob": -Infinity}]}');
    const lines = [line('id-a', 'Yes'), line('id-a', 'No'), python, python];
    const outcomes = batchOutcomes({ items, lines, status: 'completed' });
    expect(outcomes.get('id-a')).toEqual({ problem: 'the batch has 2 different lines for it' });
    expect(outcomes.get('id-b')).toMatchObject({ answer: { text: 'Yes' } });
  });

  it('says that an endpoint has no batches', async () => {
    const { options } = await setUp();
    const endpoint = { ...options.endpoint, baseURL: options.endpoint.baseURL.replace('/v1', '/v2') };
    await expect(runBatch({ ...options, endpoint })).rejects.toThrow(/if it has no batches, ask without them/);
  });
});
