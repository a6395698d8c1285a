import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ChatJsonRequest, chatJson } from '../../../../experts/llm/answers/ask-with-repair.ts';
import { MalformedAnswerError } from '../../../../experts/llm/failures.ts';
import { ProviderError } from '../../../../src/errors.ts';
import { inTurn, lastMessage } from '../../../llm-server/scripted-rule.ts';
import { endpointAt, quickService, startServer } from '../service.ts';

const schema = z.object({
  label: z.enum(['true', 'false']).describe('the verdict'),
  score: z.number().min(-1).max(1),
  note: z.string().default(''),
});
type Verdict = z.infer<typeof schema>;

async function setUp(replies: Parameters<typeof inTurn>[0]) {
  const server = await startServer(inTurn(replies));
  const request: ChatJsonRequest<Verdict> = {
    service: quickService(),
    endpoint: endpointAt(server),
    schema,
    schemaName: 'verdict',
    dryRunValue: { label: 'true', score: 0 },
    messages: [
      { role: 'system', content: 'You judge.' },
      { role: 'user', content: 'The moon is cheese.' },
    ],
  };
  return { server, request };
}

const good = '{"label": "false", "score": -0.5}';

describe('chatJson', () => {
  it('asks with a JSON schema and in words, and returns the checked value', async () => {
    const { server, request } = await setUp([good]);
    const { value, answers } = await chatJson(request);
    expect(value).toEqual({ label: 'false', score: -0.5, note: '' });
    expect(answers).toHaveLength(1);
    const { body } = server.requests[0];
    expect(body.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { name: 'verdict', schema: { type: 'object', required: ['label', 'score'] } },
    });
    expect(body.messages).toHaveLength(2);
    expect(lastMessage(body)).toMatch(/^The moon is cheese\.\n\nAnswer with JSON only.*\n.*"the verdict"/);
  });

  it('falls back to json_object and then to words alone, and remembers', async () => {
    const { server, request } = await setUp([]);
    server.rule = (body) => (body.response_format ? { status: 400, message: 'response_format unsupported' } : good);
    await chatJson(request);
    await chatJson(request);
    const forms = server.requests.map(
      ({ body }) => z.object({ type: z.string() }).safeParse(body.response_format).data?.type,
    );
    expect(forms).toEqual(['json_schema', 'json_object', undefined, undefined]);
  });

  it('does not blame the form for a refusal that had another reason', async () => {
    const { server, request } = await setUp([]);
    server.rule = (body) => (lastMessage(body).includes('moon') ? { status: 400, message: 'no moons' } : good);
    await expect(chatJson(request)).rejects.toThrow(/no moons/);
    await chatJson({ ...request, messages: [{ role: 'user', content: 'The sun is hot.' }] });
    expect(server.requests.at(-1)?.body.response_format).toMatchObject({ type: 'json_schema' });
  });

  it('repairs once, quoting the answer and its problem', async () => {
    const { server, request } = await setUp(['{"label": "maybe", "score": 3}', good]);
    const { value, answers } = await chatJson(request);
    expect(value.label).toBe('false');
    expect(answers).toHaveLength(2);
    const { messages } = server.requests[1].body;
    expect(messages.slice(-2)[0]).toEqual({ role: 'assistant', content: '{"label": "maybe", "score": 3}' });
    expect(messages.at(-1)?.content).toMatch(
      /could not be used: the JSON does not fit the schema:[\s\S]*label[\s\S]*score/,
    );
  });

  it.each([
    ['case', '{"label": "FALSE", "score": 0}'],
    ['quotation marks and stars', '{"label": "**\u201cFalse\u201d**", "score": 0}'],
    ['a fence', '```json\n{"label": "false", "score": 0}\n```'],
    ['a number in quotes', '{"label": "false", "score": "0"}'],
    ['numbers in quotes beside case', '{"label": "FALSE", "score": " -0.0 "}'],
  ])('forgives %s', async (_name, text) => {
    const { server, request } = await setUp([text]);
    expect((await chatJson(request)).value).toMatchObject({ label: 'false', score: expect.closeTo(0) });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['what was cut off', { text: `${good} Or rather {"label": "tr`, finishReason: 'length' }, /it was cut off/],
    ['what was refused', { text: null, refusal: `I will not say ${good}` }, /the model refused to answer/],
    ['what contradicts itself', `Either ${good} or {"label": "true", "score": 0}`, /not one complete JSON value/],
    ['a value among words', `Sure! ${good}`, /not one complete JSON value/],
    ['a key given twice', '{"label": "true", "score": 0, "lab\\u0065l": "false"}', /a key stands twice/],
    ['another spelling of a key', '{"Label": "true", "score": 0}', /does not fit the schema/],
    ['marks that mean something', '{"label": "true?", "score": 0}', /does not fit the schema/],
    ['a share in quotes', '{"label": "false", "score": "80%"}', /expected number, received string/],
    ['a number in quotes beyond the range', '{"label": "true", "score": "8"}', /expected number, received string/],
    ['nothing as a number', '{"label": "true", "score": ""}', /expected number, received string/],
    ['another word', '{"label": "not true", "score": 0}', /does not fit the schema/],
  ])('does not read %s', async (_name, reply, problem) => {
    const { server, request } = await setUp([reply, good]);
    const { value, answers } = await chatJson(request);
    expect(value.label).toBe('false');
    expect(answers).toHaveLength(2);
    expect(lastMessage(server.requests[1].body)).toMatch(problem);
  });

  it('fails after the repair, with the last answer', async () => {
    const { server, request } = await setUp([
      'I think it is false.',
      { text: '{"label": "fal', finishReason: 'length' },
    ]);
    const error = await chatJson(request).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MalformedAnswerError);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({
      answers: [{ text: 'I think it is false.' }, { text: '{"label": "fal' }],
      message: expect.stringMatching(
        /answered twice with something other than the JSON asked for \(verdict\).*cut off/,
      ),
    });
    expect(server.requests).toHaveLength(2);
  });

  it('tells the user on one line what the model is told on several', async () => {
    const { request } = await setUp(['{}', '{"label": "false"}']);
    await expect(chatJson(request)).rejects.toThrow(/received undefined → at score\. The answer began: "/);
  });
});
