import { describe, expect, it } from 'vitest';
import { answerRelevantOptions, parseEndpoint } from '../../../experts/llm/endpoint.ts';
import { InputError } from '../../../src/errors.ts';

const base = { name: 'local', baseURL: 'http://localhost:8000/v1/', model: 'tiny' };

describe('endpointSchema', () => {
  it('fills in defaults and takes the slash off the address', () => {
    const endpoint = parseEndpoint(base);
    expect(endpoint).toMatchObject({ baseURL: 'http://localhost:8000/v1', apiKeyEnv: null, temperature: 0 });
    expect(endpoint.concurrency).toEqual({ initial: 8, min: 1, max: 64 });
    expect(endpoint.prices).toEqual({ inputPerMillion: 0, cachedInputPerMillion: null, outputPerMillion: 0 });
  });

  it.each([
    [{ apiKeyEnv: 'sk-123-abc' }, /name of an environment variable, not the key/],
    [{ baseURL: 'http://me:secret@localhost/v1' }, /no user name, password or query/],
    [{ baseURL: 'http://localhost/v1?key=secret' }, /no user name, password or query/],
    [{ baseURL: 'localhost:8000' }, /http\(s\) address/],
    [{ concurrency: { initial: 9, max: 4 } }, /min <= initial <= max/],
    [{ modell: 'x' }, /modell/],
  ])('refuses %j', (change, message) => {
    expect(() => parseEndpoint({ ...base, ...change })).toThrow(InputError);
    expect(() => parseEndpoint({ ...base, ...change })).toThrow(message);
  });

  it('names for annotation keys what changes an answer, and nothing else', () => {
    const one = parseEndpoint({ ...base, name: 'a', apiKeyEnv: 'KEY', timeoutMs: 5, prices: { inputPerMillion: 1 } });
    expect(answerRelevantOptions(one)).toEqual(answerRelevantOptions(parseEndpoint(base)));
    expect(answerRelevantOptions(parseEndpoint({ ...base, seed: 3 }))).not.toEqual(answerRelevantOptions(one));
    expect(JSON.stringify(answerRelevantOptions(one))).not.toContain('KEY');
  });
});
