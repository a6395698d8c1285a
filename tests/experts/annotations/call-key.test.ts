import { expect, it } from 'vitest';
import { callKey } from '../../../experts/annotations/call-key.ts';
import type { ChatRequest } from '../../../experts/llm/chat.ts';
import { type EndpointInput, parseEndpoint } from '../../../experts/llm/endpoint.ts';

function request(more: Partial<ChatRequest> = {}, endpoint: Partial<EndpointInput> = {}): ChatRequest {
  return {
    endpoint: parseEndpoint({ name: 'e', baseURL: 'http://a/v1', model: 'm', ...endpoint }),
    messages: [{ role: 'user', content: 'Is it true?' }],
    dryRunText: 'yes',
    ...more,
  };
}
const jsonSchema = { name: 'verdict', schema: { type: 'object' } };

it('changes with all that can change the answer', () => {
  const keys = [
    request(),
    request({}, { baseURL: 'http://b/v1' }),
    request({}, { model: 'n' }),
    request({}, { temperature: 0.5 }),
    request({}, { topP: 0.9 }),
    request({}, { seed: 1 }),
    request({}, { maxTokens: 7 }),
    request({}, { extraBody: { reasoning_effort: 'low' } }),
    request({ messages: [{ role: 'user', content: 'Is it false?' }] }),
    request({ messages: [{ role: 'system', content: 'Is it true?' }] }),
    request({ messages: [...request().messages, { role: 'assistant', content: 'yes' }] }),
    request({ temperature: null }),
    request({ maxTokens: null }),
    request({ sampleIndex: 1 }),
    request({ wantLogprobs: true }),
    request({ wantLogprobs: true }, { logprobs: 'off' }),
    request({ wantLogprobs: true }, { topLogprobs: 5 }),
    request({ jsonSchema }),
    request({ jsonSchema: { ...jsonSchema, schema: { type: 'array' } } }),
    request({ jsonSchema: { ...jsonSchema, name: 'score' } }),
  ].map(callKey);
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{64}$/);
});

it('changes with nothing else', () => {
  const same = [
    request({}, { name: 'other' }),
    request({}, { apiKeyEnv: 'ANOTHER_KEY' }),
    request({}, { timeoutMs: 5 }),
    request({}, { concurrency: { initial: 1, max: 1 } }),
    request({}, { prices: { inputPerMillion: 3 } }),
    request({}, { contextLength: 9 }),
    request({}, { maxTokensField: 'max_completion_tokens' }),
    // No log-probabilities are asked for.
    request({}, { logprobs: 'off', topLogprobs: 5 }),
    // What the endpoint says and what the request says instead come to the same.
    request({ temperature: 0, maxTokens: 7 }, { temperature: 1, maxTokens: 8 }),
    request({ dryRunText: 'no', sampleIndex: 0, wantLogprobs: false, signal: new AbortController().signal }),
  ].map(callKey);
  expect(new Set(same.toSpliced(8, 1))).toEqual(new Set([callKey(request())]));
  expect(same[8]).toBe(callKey(request({}, { maxTokens: 7 })));
});
