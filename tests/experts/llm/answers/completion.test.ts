import { describe, expect, it } from 'vitest';
import { readCompletion } from '../../../../experts/llm/answers/completion.ts';
import { completionBody, fullForm } from '../../../../experts/llm/answers/request-form.ts';
import { CallFailure } from '../../../../experts/llm/call-failure.ts';
import { whyIncomplete } from '../../../../experts/llm/chat.ts';
import { completionOf, streamOf } from '../../../llm-server/completion-of.ts';
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

const sent = (...tokens: string[]) => ({
  content: tokens.map((token) => ({ token, logprob: -0.1, top_logprobs: [] })),
});

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

  it('are estimated where the endpoint counts what cannot be', () => {
    const usage = { prompt_tokens: 1e300, completion_tokens: 1e300, total_tokens: 1e300 };
    const { tokens, isEstimated } = read(completion({}, usage));
    expect(isEstimated).toBe(true);
    expect(tokens.inputTokens + tokens.outputTokens).toBeLessThan(100);
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
    ['as a text', { error: 'overloaded' }, 'server', null],
  ])('tells its failure %s', (_name, body, kind, status) => {
    const failure = failureIn(body);
    expect(failure).toMatchObject({ kind, status });
    expect(failure.message).toContain('overloaded');
  });
});

describe('log-probabilities', () => {
  const spelt = (choice: Choice) => {
    const { answer } = read(completion(choice));
    if (answer instanceof CallFailure) throw answer;
    return answer.logprobs?.map(({ token }) => token) ?? null;
  };

  it.each([
    ['as they are', { content: 'No.', logprobs: sent(' No', '.') }, [' No', '.']],
    ['with an end token', { content: 'No', logprobs: sent('No', '<|im_end|>') }, ['No', '<|im_end|>']],
    [
      'in the symbols of a vocabulary',
      { content: 'So: No', logprobs: sent('So', ':', '\u0120No') },
      ['So', ':', ' No'],
    ],
    ['behind thinking', { content: 'No', thinking: 'Yes?', logprobs: sent('Yes', '?', '\n', 'No') }, ['No']],
  ])('of the answer are kept: %s', (_name, choice, tokens) => {
    expect(spelt(choice)).toEqual(tokens);
  });

  it('are read by their bytes where a token is a piece of a character', () => {
    const bytes = [...new TextEncoder().encode('\u{1F30A}')];
    const pieces = [bytes.slice(0, 2), bytes.slice(2)].map((each) => ({ token: '\ufffd', logprob: -0.1, bytes: each }));
    const no = { token: ' No', logprob: -0.1, bytes: [...new TextEncoder().encode(' No')] };
    expect(spelt({ content: '\u{1F30A} No', logprobs: { content: [...pieces, no] } })?.join('')).toBe('\u{1F30A} No');
  });

  it.each([
    ['of another text', { content: 'No', logprobs: sent('Yes') }],
    ['of more than the answer', { content: 'No', logprobs: sent('Yes', ' No') }],
    ['of the thinking alone', { content: 'No', thinking: 'Is it? So: No', logprobs: sent('So', ':', ' No') }],
    ['of a part of it', { content: 'Answer: No', logprobs: sent(' No') }],
    ['cut across the answer', { content: 'No', thinking: 'x', logprobs: sent('x', '\n>No') }],
  ])('are dropped where they are %s', (_name, choice) => {
    expect(spelt(choice)).toEqual([]);
  });
});

describe('finish reasons', () => {
  const incomplete = (choice: Choice | { readonly finish: null }) => {
    const { finish = 'stop', ...rest } = choice;
    const { answer } = read({ choices: [{ ...completion(rest).choices[0], finish_reason: finish }] });
    if (answer instanceof CallFailure) throw answer;
    return whyIncomplete(answer);
  };

  it.each(['stop', 'eos', 'eos_token', 'end_turn', 'stop_sequence', 'none', 'STOP', 'COMPLETE', null])(
    '%s is complete',
    (finish) => {
      expect(incomplete({ finish })).toBeNull();
    },
  );

  it.each([
    ['length', /cut off at the longest length/],
    ['max_tokens', /cut off at the longest length/],
    ['content_filter', /content filter/],
    ['SAFETY', /content filter/],
    ['refusal', /refused/],
    ['tool_calls', /called a tool/],
    ['function_call', /called a tool/],
    ...[
      [
        'model_context_window_exceeded',
        'guardrail_intervened',
        'SPII',
        'OTHER',
        'pause_turn',
        'timeout',
        'abort',
        'error',
      ],
      [
        'insufficient_system_resource',
        'malformed_response',
        'LANGUAGE',
        'unknown',
        'stopped',
        'nonstop',
        'eos_',
        '',
        'null',
      ],
    ].flatMap((names) => names.map((name): [string, RegExp] => [name, /did not end it as a whole answer/])),
  ])('%s is not', (finish, why) => {
    expect(incomplete({ finish })).toMatch(why);
    expect(incomplete({ finish })).toContain(JSON.stringify(finish));
  });

  it('say nothing of an answer that is empty beside its reasoning', () => {
    expect(incomplete({ content: '', thinking: 'Yes' })).toMatch(/empty: there is nothing but reasoning/);
  });
});

describe('bodies', () => {
  const message = { role: 'assistant', content: 'Yes' };
  const choice = { index: 0, message, finish_reason: 'stop' };
  const other = { ...choice, index: 1, message: { ...message, content: 'No' } };

  it('hold the answer in the choice with index 0', () => {
    expect(read({ choices: [other, choice] }).answer).toMatchObject({ text: 'Yes' });
    expect(read({ choices: [{ message, finish_reason: 'stop' }] }).answer).toMatchObject({ text: 'Yes' });
    expect(read({ choices: [choice, choice] }).answer).toMatchObject({ text: 'Yes' });
  });

  it.each([
    ['no choice with index 0', { choices: [other] }, 'malformed', /of the 1 choices of the response none has index 0/],
    ['two of them', { choices: [choice, { ...other, index: 0 }] }, 'malformed', /several have index 0/],
    ['an error beside the choices', { choices: [choice], error: { message: 'half' } }, 'server', /an error: half/],
    ['an error with a status', { choices: [choice], error: { message: 'slow', code: 429 } }, 'rate-limit', /slow/],
    ['an error without a message', { choices: [choice], error: { type: 'x' } }, 'server', /an error: "{/],
    ['an error that says nothing', { choices: [choice], error: '' }, 'server', /holds an error/],
    ['an error in the choice', { choices: [{ ...choice, error: { message: 'half' } }] }, 'server', /half/],
    ['an error in the message', { choices: [{ ...choice, message: { ...message, error: 'half' } }] }, 'server', /half/],
    [
      'an older completion',
      { choices: [{ index: 0, text: 'Yes', finish_reason: 'stop' }] },
      'no-completion',
      /not a chat comp/,
    ],
    ['a piece of a stream', { choices: [{ index: 0, delta: message }] }, 'no-completion', /not a chat completion/],
    [
      'an answer of another protocol',
      { content: [{ type: 'text', text: 'Yes' }] },
      'no-completion',
      /not a chat completion/,
    ],
  ])('are failures with %s', (_name, body, kind, told) => {
    const { answer } = read(body);
    expect(answer).toBeInstanceOf(CallFailure);
    expect(answer).toMatchObject({ kind, message: expect.stringMatching(told) });
  });

  it.each([
    'data: {"choices": []}\n\ndata: [DONE]',
    'event: message\ndata: {}',
    ': keep-alive\n\ndata: {}',
    'data: {"choices": [{"delta": {"content": "Yes"}}]}\n\n',
    'data: {"choices": [{"delta": {"content": "Yes"}}]}\n\ndata: {"choices": [{"de',
  ])('are failures as a stream that ends too early: %j', (body) => {
    const { answer } = readCompletion({ body, request: ask(endpoint) });
    expect(answer).toMatchObject({
      kind: 'malformed',
      message: expect.stringMatching(/server-sent events. ended before/),
    });
  });

  it('are read from a stream as they are without one', () => {
    const request = ask(endpoint, { wantLogprobs: true });
    const reply = { text: 'Yes', tokens: [{ Yes: 0.9, No: 0.1 }], usage: { input: 5, output: 1 } };
    const whole = completionOf({ reply, asked: { model: 'm', messages: [], logprobs: true } });
    const streamed = readCompletion({ body: streamOf(whole), request });
    const { response: _, ...answer } = { response: null, ...streamed.answer };
    const { answer: plain, ...counts } = readCompletion({ body: JSON.stringify(whole), request });
    expect({ ...plain, response: undefined }).toMatchObject(answer);
    expect(streamed).toMatchObject({
      ...counts,
      answer: { text: 'Yes', finishReason: 'stop', response: { model: 'm' } },
    });
    // Thinking and refusals come in pieces, too; an error ends a stream.
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason }] })}\r\n\r\n`;
    const of = (...chunks: string[]) => readCompletion({ body: chunks.join(''), request }).answer;
    expect(
      of(chunk({ reasoning_content: 'Hm' }), chunk({ reasoning_content: '.' }), chunk({ content: 'No' }, 'stop')),
    ).toMatchObject({
      ...{ text: 'No', thinking: 'Hm.' },
    });
    expect(of(chunk({ refusal: 'I ' }), chunk({ refusal: 'cannot' }, 'stop'))).toMatchObject({
      finishReason: 'refusal',
    });
    expect(of(chunk({ content: 'Yes' }, 'length'))).toMatchObject({ finishReason: 'length' });
    expect(of(chunk({ content: 'Yes' }), 'data: {"error": {"message": "overloaded", "code": 503}}\n\n')).toMatchObject({
      ...{ kind: 'server', status: 503 },
    });
  });

  it.each([
    ['-Infinity', [{ token: 'No', logprob: -9999 }]],
    ['NaN', null],
    ['Infinity', null],
  ])('hold an answer, and in a log-probability %s', (number, top) => {
    const told = { token: 'Yes', logprob: -0.5, top_logprobs: [{ token: 'No', logprob: 0 }] };
    const body = (content: string) =>
      JSON.stringify({ choices: [{ ...choice, message: { ...message, content }, logprobs: { content: [told] } }] });
    const written = (content: string) => body(content).replace('"logprob":0', `"logprob": ${number}`);
    const { answer } = readCompletion({ body: written('Yes'), request: ask(endpoint) });
    expect(answer).toMatchObject({ text: 'Yes', logprobs: top && [{ token: 'Yes', logprob: -0.5, top }] });
    const quoted = readCompletion({ body: written('It is "-Infinity".'), request: ask(endpoint) });
    expect(quoted.answer).toMatchObject({ text: 'It is "-Infinity".' });
  });

  it.each([
    ['tool_calls', { tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }] }],
    ['function_call', { function_call: { name: 'f', arguments: '{}' } }],
  ])('with %s are no answer, whatever else they say', (_name, called) => {
    for (const content of ['Yes', null]) {
      const { answer } = read({ choices: [{ ...choice, message: { ...message, content, ...called } }] });
      if (answer instanceof CallFailure) throw answer;
      expect(whyIncomplete(answer)).toMatch(/called a tool/);
    }
    const none = { ...message, tool_calls: [], function_call: null };
    expect(read({ choices: [{ ...choice, message: none }], error: null }).answer).toMatchObject({
      finishReason: 'stop',
    });
  });

  it('with a refusal are one', () => {
    const { answer } = read({ choices: [{ ...choice, message: { ...message, refusal: 'I will not.' } }] });
    expect(answer).toMatchObject({ text: 'I will not.', finishReason: 'refusal' });
  });
});
