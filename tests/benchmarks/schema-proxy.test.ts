import { expect, it } from 'vitest';
import { startServer } from '../experts/llm/service.ts';
import { countingProxy } from '../interop/schema-proxy.ts';

it('bounds the texts and lists of a JSON answer, and leaves its enums alone', async () => {
  const server = await startServer();
  const proxy = await countingProxy(server.baseURL, { schemas: true, longestText: 60 });
  try {
    const answer = { type: 'string', enum: ['yes', 'no'] };
    const schema = {
      type: 'object',
      properties: { reason: { type: 'string' }, claims: { type: 'array', items: { type: 'string' } }, answer },
    };
    const response_format = { type: 'json_schema', json_schema: { name: 'verdict', schema, strict: true } };
    const messages = [{ role: 'user', content: 'Is it true?' }];
    await fetch(`${proxy.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny', messages, response_format }),
    });
    const text = { type: 'string', pattern: expect.stringMatching(/\{1,60\}\$$/) };
    expect(server.requests.at(-1)).toMatchObject({
      body: {
        response_format: {
          type: 'json_object',
          schema: {
            type: 'object',
            properties: { reason: text, claims: { type: 'array', items: text, maxItems: 3 }, answer },
          },
        },
      },
    });
  } finally {
    proxy.close();
  }
});
