import { describe, expect, it } from 'vitest';
import { callKey } from '../../../experts/asking/call-journal.ts';
import type { ChatRequest } from '../../../experts/llm/chat.ts';
import { type EndpointInput, endpointSchema } from '../../../experts/llm/endpoint.ts';

function asking(more: Partial<ChatRequest> = {}, endpoint: Partial<EndpointInput> = {}): ChatRequest {
  return {
    endpoint: endpointSchema.parse({ name: 'e', baseURL: 'http://a/v1', model: 'm', ...endpoint }),
    messages: [{ role: 'user', content: 'Is it true?' }],
    dryRunText: 'yes',
    ...more,
  };
}
const jsonSchema = { name: 'verdict', schema: { type: 'object' } };

describe('callKey', () => {
  it('changes with all that can change the answer', () => {
    const keys = [
      asking(),
      asking({}, { baseURL: 'http://b/v1' }),
      asking({}, { baseURL: 'http://a:81/v1' }),
      asking({}, { baseURL: 'http://a/deployments/x' }),
      asking({}, { provider: 'somebody' }),
      asking({}, { model: 'n' }),
      asking({}, { temperature: 0.5 }),
      asking({}, { topP: 0.9 }),
      asking({}, { seed: 1 }),
      asking({}, { maxTokens: 7 }),
      asking({}, { extraBody: { reasoning_effort: 'low' } }),
      asking({ messages: [{ role: 'user', content: 'Is it false?' }] }),
      asking({ messages: [{ role: 'system', content: 'Is it true?' }] }),
      asking({ messages: [...asking().messages, { role: 'assistant', content: 'yes' }] }),
      asking({ temperature: null }),
      asking({ maxTokens: null }),
      asking({ sampleIndex: 1 }),
      asking({ wantLogprobs: true }),
      asking({ wantLogprobs: true }, { logprobs: 'off' }),
      asking({ wantLogprobs: true }, { topLogprobs: 5 }),
      asking({ jsonSchema }),
      asking({ jsonSchema: { ...jsonSchema, schema: { type: 'array' } } }),
      asking({ jsonSchema: { ...jsonSchema, name: 'score' } }),
    ].map(callKey);
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is the same under each name of this machine, and under each address of a provider', () => {
    const at = (baseURL: string, provider: string | null = null) => callKey(asking({}, { baseURL, provider }));
    const here = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0'].map((host) => at(`http://${host}:8000/v1`));
    expect(new Set(here).size).toBe(1);
    expect(at('http://localhost:8001/v1')).not.toBe(here[0]);
    expect(at('http://gpu-1:8000/v1', 'ours')).toBe(at('http://gpu-2:8000/v1', 'ours'));
  });

  it('changes with nothing else', () => {
    const same = [
      asking({}, { name: 'other' }),
      asking({}, { baseURL: 'https://a' }),
      asking({}, { baseURL: 'http://b/v1', provider: 'a' }),
      asking({}, { apiKeyEnv: 'ANOTHER_KEY' }),
      asking({}, { timeoutMs: 5 }),
      asking({}, { concurrency: 1 }),
      asking({}, { prices: { inputPerMillion: 3 } }),
      asking({}, { contextLength: 9 }),
      asking({}, { maxTokensField: 'max_completion_tokens' }),
      // No log-probabilities are asked for.
      asking({}, { logprobs: 'off', topLogprobs: 5 }),
      // What the endpoint says and what the request says instead come to the same.
      asking({ temperature: 0, maxTokens: 7 }, { temperature: 1, maxTokens: 8 }),
      asking({ dryRunText: 'no', sampleIndex: 0, wantLogprobs: false, signal: new AbortController().signal }),
    ].map(callKey);
    expect(new Set(same.toSpliced(10, 1))).toEqual(new Set([callKey(asking())]));
    expect(same[10]).toBe(callKey(asking({}, { maxTokens: 7 })));
  });
});
