import { describe, expect, it } from 'vitest';
import type { EndpointInput } from '../../../../experts/llm/endpoint.ts';
import type { ChatBody, ScriptedReply } from '../../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from '../service.ts';

interface Refusal {
  readonly name: string;
  readonly refuses: (body: ChatBody) => boolean;
  readonly reply: ScriptedReply;
  /** What of the body is sent in the end. */
  readonly sent: Record<string, unknown>;
  readonly said: RegExp;
  readonly endpoint?: Partial<EndpointInput>;
}

const hasLogprobs = (body: ChatBody) => body.logprobs === true;
const has = (field: string) => (body: ChatBody) => field in body;
const refusals: Refusal[] = [
  {
    name: 'max_tokens',
    refuses: has('max_tokens'),
    reply: {
      status: 400,
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    },
    sent: { max_completion_tokens: 1024, max_tokens: undefined },
    said: /wants the length limit as max_completion_tokens/,
  },
  {
    name: 'max_completion_tokens',
    refuses: has('max_completion_tokens'),
    reply: {
      status: 422,
      rawBody: '{"detail": [{"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"]}]}',
    },
    sent: { max_tokens: 1024, max_completion_tokens: undefined },
    said: /wants the length limit as max_tokens/,
    endpoint: { maxTokensField: 'max_completion_tokens' },
  },
  {
    name: 'a temperature',
    refuses: has('temperature'),
    reply: {
      status: 400,
      message:
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    },
    sent: { temperature: undefined },
    said: /takes no temperature/,
  },
  {
    name: 'a seed',
    refuses: has('seed'),
    reply: { status: 400, message: 'Unsupported parameter: seed' },
    sent: { seed: undefined },
    said: /takes no seed/,
    endpoint: { seed: 7 },
  },
  {
    name: 'log-probabilities with 403',
    refuses: hasLogprobs,
    reply: { status: 403, message: 'You are not allowed to request logprobs from this model' },
    sent: { logprobs: undefined, top_logprobs: undefined },
    said: /gives no log-probabilities/,
  },
  {
    name: 'log-probabilities with 500',
    refuses: hasLogprobs,
    reply: { status: 500, message: 'logprobs is not implemented' },
    sent: { logprobs: undefined },
    said: /gives no log-probabilities/,
  },
  {
    name: 'log-probabilities in an array',
    refuses: hasLogprobs,
    reply: { status: 400, rawBody: '[{"error": {"code": 400, "message": "Logprobs is not enabled for this model"}}]' },
    sent: { logprobs: undefined },
    said: /gives no log-probabilities/,
  },
  {
    name: "log-probabilities in a message that is a list of refused fields (Mistral's)",
    refuses: hasLogprobs,
    reply: {
      status: 422,
      rawBody:
        '{"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra inputs are not permitted"}]}}',
    },
    sent: { logprobs: undefined },
    said: /gives no log-probabilities/,
  },
  {
    name: 'more than five alternatives',
    refuses: (body) => Number(body.top_logprobs) > 5,
    reply: { status: 400, message: 'top_logprobs must be <= 5, got 20' },
    sent: { logprobs: true, top_logprobs: 5 },
    said: /gives at most 5 alternatives a token/,
  },
  {
    name: 'a JSON schema',
    refuses: (body) => JSON.stringify(body.response_format ?? '').includes('json_schema'),
    reply: { status: 500, message: 'response_format json_schema is not supported' },
    sent: { response_format: { type: 'json_object' } },
    said: /takes no JSON schema/,
  },
  {
    name: 'an answer that is no stream',
    refuses: (body) => body.stream !== true,
    reply: { status: 400, message: 'This model only support stream mode, please enable the stream parameter' },
    sent: { stream: true, stream_options: { include_usage: true } },
    said: /answers in streams only/,
  },
];

const everything = { wantLogprobs: true, jsonSchema: { name: 'verdict', schema: { type: 'object' } } };

describe('what endpoints refuse', () => {
  it.each(refusals)('$name is learnt once, from parallel calls as well, and said once', async (refusal) => {
    const { refuses, reply, sent, said, endpoint: more = {} } = refusal;
    const server = await startServer((body) => (refuses(body) ? reply : 'yes'));
    const notes: string[] = [];
    const service = quickService({ onNote: (line) => notes.push(line) });
    const endpoint = endpointAt(server, more);
    const answers = await Promise.all(Array.from({ length: 5 }, () => service.chat(ask(endpoint, everything))));
    expect(answers.map(({ text }) => text)).toEqual(Array(5).fill('yes'));
    expect(server.requests.filter(({ body }) => refuses(body))).toHaveLength(1);
    expect(server.requests).toHaveLength(6);
    for (const { body } of server.requests.slice(1))
      for (const [field, value] of Object.entries(sent)) expect(body[field]).toEqual(value);
    expect(notes).toEqual([expect.stringMatching(said)]);
  });

  it('are learnt one after the other where there are several', async () => {
    const chosen = refusals.filter(({ name }) => !name.includes('500') && name !== 'max_completion_tokens');
    const server = await startServer((body) => chosen.find(({ refuses }) => refuses(body))?.reply ?? 'yes');
    await quickService().chat(ask(endpointAt(server), everything));
    expect(Object.keys(server.requests.at(-1)?.body ?? {}).sort()).toEqual([
      'max_completion_tokens',
      'messages',
      'model',
      'response_format',
      'stream',
      'stream_options',
    ]);
  });

  it('is paid for once though the first answer takes longer than others wait for it', async () => {
    const server = await startServer((body) =>
      'temperature' in body ? { status: 400, message: 'temperature is not supported' } : { text: 'yes', delayMs: 2300 },
    );
    const service = quickService();
    const endpoint = endpointAt(server);
    await Promise.all(Array.from({ length: 5 }, () => service.chat(ask(endpoint))));
    expect(server.requests.filter(({ body }) => 'temperature' in body)).toHaveLength(1);
  });

  it('is a JSON schema where a server always breaks down over one without saying so', async () => {
    const broken = { status: 500, message: 'Internal Server Error' };
    const server = await startServer((body) => ('response_format' in body ? broken : 'yes'));
    const notes: string[] = [];
    const service = quickService({ onNote: (line) => notes.push(line) });
    const answers = await Promise.all([1, 2, 3].map(() => service.chat(ask(endpointAt(server), everything))));
    expect(answers.map(({ text }) => text)).toEqual(['yes', 'yes', 'yes']);
    expect(notes).toEqual([expect.stringMatching(/knows no JSON mode/)]);
  });

  const passing: [string, ScriptedReply, number][] = [
    ['six failures of the server', { status: 500, message: 'Internal Server Error' }, 6],
    ['one bare 400', { status: 400, message: 'Bad Request' }, 1],
    ['six of status 425', { status: 425, message: 'Too Early' }, 6],
  ];
  it.each(passing)('is no JSON schema after %s that passed', async (_name, failure, times) => {
    const server = await startServer((_body, { index }) => (index < times ? failure : 'yes'));
    const notes: string[] = [];
    const service = quickService({ onNote: (line) => notes.push(line) });
    const told = service.chat(ask(endpointAt(server), everything));
    if ('status' in failure && failure.status === 425)
      await expect(told).rejects.toThrow('status 425 after 6 attempts');
    else expect(await told).toMatchObject({ text: 'yes' });
    const { length } = server.requests;
    await service.chat(ask(endpointAt(server), everything));
    expect(server.requests.slice(length).map(({ body }) => 'response_format' in body)).toEqual([true]);
    expect(notes).toEqual([]);
  });

  it.each([400, 500])('is a JSON schema that status %i refuses without a word, each time', async (status) => {
    const server = await startServer((body) => ('response_format' in body ? { status, message: 'no' } : 'yes'));
    const service = quickService();
    await service.chat(ask(endpointAt(server), everything));
    const { length } = server.requests;
    await service.chat(ask(endpointAt(server), everything));
    expect(server.requests.slice(length).map(({ body }) => 'response_format' in body)).toEqual([false]);
  });

  it('is not looked for for long where a server answers nothing at all', async () => {
    const server = await startServer(() => ({ status: 500, message: 'Internal Server Error' }));
    const failed = quickService().chat(ask(endpointAt(server), everything));
    await expect(failed).rejects.toThrow(/status 500 after 8 attempts/);
    expect(server.requests.map(({ body }) => 'response_format' in body)).toEqual([
      ...Array(6).fill(true),
      false,
      false,
    ]);
  });

  it('is no JSON schema where the server has taken one before', async () => {
    let isBroken = false;
    const server = await startServer(() => (isBroken ? { status: 500, message: 'Internal Server Error' } : 'yes'));
    const service = quickService();
    await service.chat(ask(endpointAt(server), everything));
    isBroken = true;
    await expect(service.chat(ask(endpointAt(server), everything))).rejects.toThrow(/status 500 after 6 attempts/);
    expect(server.requests).toHaveLength(7);
  });

  it.each([
    'max_completion_tokens is not supported',
    "'max_tokens' and 'max_completion_tokens' are not supported with this model.",
  ])('is asked once under each name of the length limit where both are refused: %s', async (message) => {
    const server = await startServer(() => ({ status: 400, message }));
    const failed = quickService().chat(ask(endpointAt(server)));
    await expect(failed).rejects.toThrow(/refused the request with status 400: .*; check the parameters/);
    expect(server.requests.map(({ body }) => 'max_tokens' in body)).toEqual([true, false]);
  });

  it('does not hide a mistake in the settings', async () => {
    const server = await startServer(() => ({ status: 400, message: 'max_tokens is too large: 9000. At most 4096.' }));
    await expect(quickService().chat(ask(endpointAt(server), everything))).rejects.toThrow(/max_tokens is too large/);
    expect(server.requests).toHaveLength(1);
  });
});
