import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { endpointOf, endpointsSchema } from '../../experts/detectors/models-by-role.ts';
import { askVerdict } from '../../experts/llm/answers/verdict.ts';
import type { Endpoint } from '../../experts/llm/endpoint.ts';
import { parseYaml } from '../../src/yaml.ts';
import { ask, quickService, startServer } from '../experts/llm/service.ts';
import type { ChatBody, ScriptedReply } from '../llm-server/scripted-rule.ts';

const page = readFileSync(new URL('../../docs/reference/endpoints.md', import.meta.url), 'utf8');
const yaml = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
const { endpoints: listed } = parseYaml(yaml, 'docs/reference/endpoints.md is') as { endpoints: unknown };
const endpoints = endpointsSchema.parse(listed);

const KEY = 'sk-of-this-service-0123456789';

/** An answer, with what a service says besides. */
function answer(content: string, more: { message?: object; choice?: object; rest?: object } = {}): ScriptedReply {
  const usage = { prompt_tokens: 100, completion_tokens: 4, total_tokens: 104 };
  const choice = { index: 0, finish_reason: 'stop', logprobs: null, ...more.choice };
  const message = { role: 'assistant', content, ...more.message };
  return {
    body: JSON.stringify({ object: 'chat.completion', usage, choices: [{ ...choice, message }], ...more.rest }),
  };
}

const inJson = '{"answer": "No"}';
const token = (text: string, logprob: number) => ({ token: text, logprob, bytes: [...Buffer.from(text)] });
/** The tokens of the JSON, with 3 to 1 for No. */
const tokens = {
  content: [
    { ...token('{"answer": "', -0.001), top_logprobs: [token('{"answer": "', -0.001)] },
    { ...token('No', Math.log(0.75)), top_logprobs: [token('No', Math.log(0.75)), token('Yes', Math.log(0.25))] },
    { ...token('"}', -0.001), top_logprobs: [token('"}', -0.001)] },
  ],
};
const takesSchema = (body: ChatBody) => (body.response_format === undefined ? 'No.' : inJson);

interface Service {
  /** Answers and refuses as the documentation of the service says. */
  readonly reply: (body: ChatBody, call: { readonly index: number }) => ScriptedReply;
  /** Of the last request. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly sent: Readonly<Record<string, unknown>>;
  readonly requests: number;
  /** Of No. */
  readonly probability: number | null;
  readonly tokens?: { readonly inputTokens: number; readonly outputTokens: number };
  readonly model?: string;
}

const bearer = { authorization: `Bearer ${KEY}` };
const schemaSent = { response_format: expect.objectContaining({ type: 'json_schema' }) };

const services: Readonly<Record<string, Service>> = {
  openai: {
    reply: (body) =>
      answer(takesSchema(body), {
        message: { refusal: null, annotations: [] },
        choice: { logprobs: body.logprobs ? { ...tokens, refusal: null } : null },
        rest: { model: 'gpt-4o-mini-2024-07-18', system_fingerprint: 'fp_1', service_tier: 'default' },
      }),
    headers: bearer,
    sent: { ...schemaSent, model: 'gpt-4o-mini', temperature: 0, max_tokens: 1024, logprobs: true, top_logprobs: 20 },
    requests: 1,
    probability: 0.75,
    model: 'gpt-4o-mini-2024-07-18',
  },
  'openai-reasoning': {
    reply: (body) => {
      for (const name of ['temperature', 'max_tokens', 'logprobs', 'top_logprobs'])
        if (name in body)
          return { status: 400, message: `Unsupported parameter: '${name}' is not supported with this model.` };
      const details = { reasoning_tokens: 320 };
      const usage = {
        prompt_tokens: 100,
        completion_tokens: 330,
        total_tokens: 430,
        completion_tokens_details: details,
      };
      return answer(takesSchema(body), { rest: { model: 'gpt-5-mini-2025-08-07', usage } });
    },
    headers: bearer,
    sent: { ...schemaSent, reasoning_effort: 'low', max_completion_tokens: 4000, temperature: undefined },
    requests: 1,
    probability: null,
    tokens: { inputTokens: 100, outputTokens: 330 },
  },
  azure: {
    // Of the deployment's limit, and what the filters say beside an answer.
    reply: (body, { index }) =>
      index === 0
        ? {
            status: 429,
            message:
              'Requests to the ChatCompletions_Create Operation have exceeded the call rate limit. Please retry after 1 second.',
            headers: { 'retry-after-ms': '3', 'retry-after': '1', 'x-ratelimit-remaining-requests': '0' },
          }
        : answer(takesSchema(body), {
            choice: { logprobs: tokens, content_filter_results: { hate: { filtered: false, severity: 'safe' } } },
            rest: { prompt_filter_results: [{ prompt_index: 0 }], model: 'gpt-4o-mini-2024-07-18' },
          }),
    headers: { 'api-key': KEY, authorization: undefined },
    query: { 'api-version': '2024-10-21' },
    sent: schemaSent,
    requests: 2,
    probability: 0.75,
  },
  anthropic: {
    // Ignores what it does not know. An overload is its own status.
    reply: (_body, { index }) =>
      index === 0
        ? { status: 529, rawBody: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' }
        : answer('No', { rest: { model: 'claude-3-5-haiku-20241022' } }),
    headers: bearer,
    sent: { temperature: 0, logprobs: undefined, max_tokens: 1024 },
    requests: 2,
    probability: null,
  },
  gemini: {
    reply: (body) =>
      'logprobs' in body
        ? {
            status: 400,
            rawBody: JSON.stringify([
              {
                error: {
                  code: 400,
                  message: 'Invalid JSON payload received. Unknown name "logprobs": Cannot find field.',
                  status: 'INVALID_ARGUMENT',
                },
              },
            ]),
          }
        : answer(takesSchema(body), {
            // The thinking is in the total alone.
            rest: {
              model: 'gemini-2.5-flash',
              usage: { prompt_tokens: 100, completion_tokens: 4, total_tokens: 154 },
            },
          }),
    headers: bearer,
    sent: { ...schemaSent, reasoning_effort: 'none', logprobs: undefined },
    requests: 2,
    probability: null,
    tokens: { inputTokens: 100, outputTokens: 54 },
  },
  ollama: {
    // No log-probabilities, and no refusal of them; thinking in a field of its own.
    reply: (body) =>
      answer(takesSchema(body), {
        message: { reasoning: 'They say yes, but no.' },
        rest: { model: 'qwen2.5:7b', system_fingerprint: 'fp_ollama' },
      }),
    sent: schemaSent,
    requests: 1,
    probability: null,
  },
  vllm: {
    reply: (body) =>
      answer(takesSchema(body), {
        message: { reasoning_content: null, tool_calls: [] },
        choice: { logprobs: tokens, stop_reason: null },
        rest: { model: 'Qwen/Qwen2.5-7B-Instruct', prompt_logprobs: null, kv_transfer_params: null },
      }),
    sent: schemaSent,
    requests: 1,
    probability: 0.75,
  },
  'llama-cpp': {
    reply: (body) =>
      answer(takesSchema(body), {
        choice: { logprobs: { content: tokens.content.map((each, id) => ({ id, ...each })) } },
        rest: {
          model: '/models/qwen2.5-7b-instruct.gguf',
          system_fingerprint: 'b1-6e7f1c2',
          timings: { prompt_n: 100, predicted_ms: 12.5 },
        },
      }),
    sent: schemaSent,
    requests: 1,
    probability: 0.75,
    model: '/models/qwen2.5-7b-instruct.gguf',
  },
  litellm: {
    reply: (body) => {
      if (body.response_format !== undefined)
        return {
          status: 400,
          message:
            "litellm.UnsupportedParamsError: openai does not support parameters: ['response_format'], for model=tiny. To drop these, set `litellm.drop_params=True`",
        };
      return answer('No', {
        choice: { logprobs: { content: tokens.content.slice(1, 2) } },
        rest: { model: 'gpt-4o-mini' },
      });
    },
    headers: bearer,
    sent: { response_format: undefined, model: 'openai/gpt-4o-mini' },
    // The schema, and the mode without one, which a verdict does not need.
    requests: 2,
    probability: 0.75,
  },
  gateway: {
    reply: (body) => answer(takesSchema(body)),
    headers: { 'x-route': 'eu', 'x-gateway-key': KEY, authorization: undefined },
    sent: schemaSent,
    requests: 1,
    probability: null,
  },
};

it('every configuration of the page is asked here', () => {
  expect(Object.keys(endpoints)).toEqual(Object.keys(services));
});

describe.each(Object.entries(services))('%s', (name, service) => {
  it('is asked as the page says, and answers', async () => {
    const server = await startServer(service.reply);
    const documented = endpointOf({ role: 'judge', model: name, endpoints });
    const endpoint: Endpoint = { ...documented, baseURL: server.baseURL };
    const variables = [documented.apiKeyEnv, ...Object.values(documented.headersEnv)].filter((each) => each !== null);
    const live = quickService({ env: Object.fromEntries(variables.map((variable) => [variable, KEY])) });
    const request = { ...ask(endpoint, 'Is it a rumor? Answer Yes or No.'), wantLogprobs: true };
    const form = { words: { rumor: ['Yes'], 'non-rumor': ['No'] }, reasons: false };
    const verdict = await askVerdict({ service: live, request, ...form });
    expect(verdict).toMatchObject({ label: 'non-rumor', isDropped: false });
    expect(verdict.probabilities?.['non-rumor'] ?? null).toEqual(
      service.probability === null ? null : expect.closeTo(service.probability, 6),
    );
    expect(server.requests).toHaveLength(service.requests);
    const last = server.requests[server.requests.length - 1];
    for (const [header, value] of Object.entries(service.headers ?? { authorization: 'Bearer no-key' }))
      expect([header, last.headers[header]]).toEqual([header, value]);
    expect(last.query).toEqual(service.query ?? {});
    for (const [field, value] of Object.entries(service.sent))
      expect([field, last.body[field]]).toEqual([field, value]);
    const [usage] = live.usage();
    expect(usage).toMatchObject({ answers: 1, estimatedAnswers: 0, otherAnswers: 0, ...service.tokens });
    if (service.model !== undefined) expect(verdict.answers[0].response?.model).toBe(service.model);
  });

  it('says what to do about a wrong key or an unknown model', async () => {
    const replies: ScriptedReply[] = [
      { status: 401, message: 'Incorrect API key provided' },
      { status: 404, message: 'The model does not exist' },
    ];
    const documented = endpointOf({ role: 'judge', model: name, endpoints });
    const variables = [documented.apiKeyEnv, ...Object.values(documented.headersEnv)].filter((each) => each !== null);
    const env = Object.fromEntries(variables.map((variable) => [variable, KEY]));
    for (const [reply, told] of [
      [replies[0], /key/],
      [replies[1], /knows no model/],
    ] as const) {
      const server = await startServer(() => reply);
      const live = quickService({ env });
      await expect(live.chat(ask({ ...documented, baseURL: server.baseURL }))).rejects.toThrow(told);
      expect(server.requests).toHaveLength(1);
    }
  });
});
