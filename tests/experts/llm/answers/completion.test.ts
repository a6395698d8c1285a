import { describe, expect, it } from 'vitest';
import { completionBody, fullForm, readCompletion } from '../../../../experts/llm/answers/completion.ts';
import { CallFailure } from '../../../../experts/llm/call-failure.ts';
import { ask, endpointAt } from '../service.ts';

const endpoint = endpointAt({ baseURL: 'http://localhost:1/v1' });

interface Choice {
  readonly content?: string | null;
  readonly thinking?: string;
  readonly finish?: string;
  readonly logprobs?: unknown;
  readonly error?: unknown;
}

function read(body: unknown, settings = endpoint) {
  const request = ask(settings, { wantLogprobs: true });
  return readCompletion({ body: JSON.stringify(body), request });
}

function completion({ content = 'Yes', thinking, finish = 'stop', logprobs = null, error }: Choice, usage?: unknown) {
  const message = { role: 'assistant', content, reasoning_content: thinking };
  return { choices: [{ message, finish_reason: finish, logprobs, error }], usage };
}

it('sends no half of an emoji', () => {
  const request = ask(endpoint, 'cut \ud83d in half \udc4d, and \ud83d\udc4d whole');
  expect(completionBody({ request, form: fullForm(request) }).messages).toEqual([
    { role: 'user', content: 'cut \ufffd in half \ufffd, and \ud83d\udc4d whole' },
  ]);
});

describe('log-probabilities in another form', () => {
  it.each([
    ['an object by token', { content: [{ token: 'Yes', logprob: -0.1, top_logprobs: { Yes: -0.1 } }] }],
    ['a number that JSON cannot write', { content: [{ token: 'Yes', logprob: null, top_logprobs: [] }] }],
    ['a list', [{ token: 'Yes', logprob: -0.1 }]],
    ['those of the older protocol', { tokens: ['Yes'], token_logprobs: [-0.1] }],
  ])('leave the answer as it is: %s', (_name, logprobs) => {
    expect(read(completion({ logprobs })).answer).toMatchObject({ text: 'Yes', logprobs: null });
    const insisting = read(completion({ logprobs }), { ...endpoint, logprobs: 'on' });
    expect(insisting.answer).toMatchObject({ kind: 'no-answer' });
  });
});

describe('tokens', () => {
  it('count the thinking that stands in the total alone', () => {
    const usage = { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 };
    expect(read(completion({}, usage)).tokens).toMatchObject({ inputTokens: 32, outputTokens: 103 });
    const usual = { prompt_tokens: 32, completion_tokens: 9, total_tokens: 41 };
    expect(read(completion({}, usual)).tokens).toMatchObject({ inputTokens: 32, outputTokens: 9 });
    const untold = { prompt_tokens: 32, completion_tokens: 9, total_tokens: null };
    expect(read(completion({}, untold)).tokens).toMatchObject({ outputTokens: 9 });
  });

  it('are whole numbers, as the store wants them', () => {
    const usage = { prompt_tokens: 10.5, completion_tokens: 1.2 };
    expect(read(completion({}, usage)).tokens).toMatchObject({ inputTokens: 11, outputTokens: 2 });
  });

  it('are estimated with the thinking where the endpoint counts none', () => {
    const short = read(completion({}));
    const long = read(completion({ thinking: 'This may well be a rumor. '.repeat(50) }));
    expect(short.isEstimated && long.isEstimated).toBe(true);
    expect(long.tokens.outputTokens).toBeGreaterThan(short.tokens.outputTokens + 200);
  });
});

describe('a response without an answer', () => {
  const failureIn = (body: unknown) => {
    const { answer } = read(body);
    if (!(answer instanceof CallFailure)) throw new Error('it was read as an answer');
    return answer;
  };

  it.each(['length', 'MAX_TOKENS', 'model_length'])('was cut off before it began: %s', (finish) => {
    const failure = failureIn(completion({ content: null, finish }));
    expect(failure.kind).toBe('no-answer');
    expect(failure.message).toMatch(/raise maxTokens/);
  });

  it.each(['content_filter', 'SAFETY'])('was filtered: %s', (finish) => {
    expect(failureIn(completion({ content: '', finish })).kind).toBe('filtered');
  });

  it.each([
    ['beside empty choices', { choices: [], error: { message: 'overloaded', code: 529 } }, 'server', 529],
    [
      'in a choice',
      completion({ content: '', finish: 'error', error: { message: 'overloaded', code: 503 } }),
      'server',
      503,
    ],
    ['as a text', { error: 'overloaded' }, 'malformed', null],
  ])('tells its failure %s', (_name, body, kind, status) => {
    const failure = failureIn(body);
    expect(failure).toMatchObject({ kind, status });
    expect(failure.message).toContain('overloaded');
  });
});
