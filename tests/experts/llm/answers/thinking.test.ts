import { describe, expect, it } from 'vitest';
import { readCompletion } from '../../../../experts/llm/answers/completion.ts';
import { fullForm } from '../../../../experts/llm/answers/request-form.ts';
import { splitThinking } from '../../../../experts/llm/answers/thinking.ts';
import { CallFailure } from '../../../../experts/llm/call-failure.ts';
import { ask, endpointAt } from '../service.ts';

describe('splitThinking', () => {
  it.each([
    ['Yes', 'Yes', null],
    [' Yes\n', ' Yes\n', null],
    ['<think>No, or yes?</think>\nYes', 'Yes', 'No, or yes?'],
    ['<thinking>\nNo\n</thinking>Yes', 'Yes', 'No'],
    ['<seed:think>No</seed:think>Yes', 'Yes', 'No'],
    ['[THINK]No[/THINK]Yes', 'Yes', 'No'],
    ['No, or is it?\n</think>\n\nYes', 'Yes', 'No, or is it?'],
    ['<think>a</think>No<think>b</think>Yes', 'Yes', 'a</think>No<think>b'],
    ['<think>No', '', 'No'],
    ['Yes\n<think>No', '', 'Yes\n<think>No'],
    ['<think>a</think>Yes<think>No, ', '', 'a</think>Yes<think>No,'],
    ['<think></think>Yes', 'Yes', null],
    [
      '<|channel|>analysis<|message|>No?<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>',
      'Yes',
      '<|channel|>analysis<|message|>No?<|end|><|start|>assistant',
    ],
    ['<|channel|>analysis<|message|>It is No', '', '<|channel|>analysis<|message|>It is No'],
    [
      '<|channel|>final<|message|>Yes<|end|><|start|>assistant<|channel|>analysis<|message|>No!',
      '',
      '<|channel|>final<|message|>Yes<|end|><|start|>assistant<|channel|>analysis<|message|>No!',
    ],
    ['analysisThe user asks. No?assistantfinalYes', 'Yes', 'analysisThe user asks. No?assistantfinal'],
    ['Yes<|im_end|>', 'Yes', null],
    ['Yes<end_of_turn>\n', 'Yes', null],
    ['<|START_THINKING|>No<|END_THINKING|>Yes', 'Yes', 'No'],
    ['<|START_THINKING|>No<|END_THINKING|><|START_RESPONSE|>Yes<|END_RESPONSE|>', 'Yes', 'No'],
    ['<|START_THINKING|>No, so Yes', '', 'No, so Yes'],
    ['<|channel>thought\nNo<channel|>Yes', 'Yes', 'thought\nNo'],
    ['<|channel>thought\nYes', '', 'thought\nYes'],
    ['<｜begin▁of▁thinking｜>No<｜end▁of▁thinking｜>Yes', 'Yes', 'No'],
    ['<ponder>No</ponder>\nYes', 'Yes', 'No'],
    ['<ponder>\nYes', '', 'Yes'],
    ['Yes\n<ponder>No', '', 'Yes\n<ponder>No'],
    ['Yes<ponder>No?</ponder>', '', 'Yes<ponder>No?'],
    ['<ponder>a<doubt>b</doubt>Yes', '', 'a<doubt>b</doubt>Yes'],
    ['No?</ponder>Yes', 'Yes', 'No?'],
    ['[REASONING]No[/REASONING]Yes', 'Yes', 'No'],
    ['[REASONING]\nYes', '', 'Yes'],
    ['See <URL> and [USER].\nAnswer: Yes', 'See <URL> and [USER].\nAnswer: Yes', null],
    ['{"reason": "<ponder>No", "answer": "Yes"}', '{"reason": "<ponder>No", "answer": "Yes"}', null],
    ['<b>Yes</b>', '<b>Yes</b>', null],
    ['<final_answer>Yes</final_answer>', 'Yes', null],
    ['<verdict>Yes', 'Yes', null],
    ['<answer>No, wait: <answer>Yes', '<answer>No, wait: <answer>Yes', null],
    ['<|channel|>final <|constrain|>json<|message|>{"answer": "Yes"}<|return|>', '{"answer": "Yes"}', null],
    ['<answer>Yes</answer>', 'Yes', null],
    ['<think>No</think><answer>\nYes\n</answer>', 'Yes', 'No'],
  ])('splits %j', (text, answer, thinking) => {
    expect(splitThinking(text)).toMatchObject({ answer, thinking });
  });
});

function read(message: object, more: object = {}) {
  const request = ask(endpointAt({ baseURL: 'http://localhost:1/v1' }));
  expect(fullForm(request)).toBeDefined();
  const body = JSON.stringify({ choices: [{ message, finish_reason: 'stop', ...more }] });
  const { answer } = readCompletion({ body, request });
  return answer instanceof CallFailure ? { failure: answer.kind, message: answer.message } : answer;
}

describe('readCompletion', () => {
  it.each([
    ['thinking apart', { content: 'Yes', reasoning_content: 'No?' }, { text: 'Yes', thinking: 'No?' }],
    ['thinking apart under its other name', { content: 'Yes', reasoning: 'No?' }, { text: 'Yes', thinking: 'No?' }],
    ['parts', { content: [{ type: 'text', text: 'Ye' }, { text: 's' }] }, { text: 'Yes' }],
    [
      'parts with thinking',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'No?' }] },
          { type: 'text', text: 'Yes' },
        ],
      },
      { text: 'Yes', thinking: expect.stringContaining('No?') },
    ],
    [
      'parts that are marked as thoughts',
      {
        content: [
          { type: 'text', text: 'No?', thought: true },
          { type: 'text', text: 'Yes', thought: false },
        ],
      },
      { text: 'Yes', thinking: 'No?' },
    ],
    [
      'a part alone that is marked as a thought',
      { content: [{ text: 'Yes', thought: true }] },
      { text: '', thinking: 'Yes' },
    ],
    ['a refusal', { content: null, refusal: 'No.' }, { text: 'No.', finishReason: 'refusal' }],
    ['a refusal beside a text', { content: 'Yes', refusal: 'No.' }, { text: 'No.', finishReason: 'refusal' }],
    ['a refusal as a part', { content: [{ type: 'refusal', refusal: 'No.' }] }, { finishReason: 'refusal' }],
    ['nothing but thinking', { content: null, reasoning_content: 'Yes' }, { text: '', thinking: 'Yes' }],
    ['a tag that was never closed', { content: '<think>Yes' }, { text: '', thinking: 'Yes' }],
  ])('reads %s', (_name, message, expected) => {
    expect(read(message)).toMatchObject(expected);
  });

  it('says that thinking used up all tokens', () => {
    for (const message of [{ content: '<think>It is' }, { content: '', reasoning_content: 'It is' }])
      expect(read(message, { finish_reason: 'length' })).toMatchObject({
        failure: 'no-answer',
        message: expect.stringContaining('cut off before it began'),
      });
  });

  it('gives the log-probabilities of the answer, without those of the thinking', () => {
    const content = ['<think>', 'No', '</thi', 'nk>', '\n', 'Yes'].map((token) => ({ token, logprob: -0.5 }));
    const answer = read({ content: '<think>No</think>\nYes' }, { logprobs: { content } });
    expect(answer).toMatchObject({ text: 'Yes', logprobs: [{ token: 'Yes' }] });
    // Some send those of the answer alone.
    const separate = read({ content: '<think>No</think>Yes' }, { logprobs: { content: content.slice(-1) } });
    expect(separate).toMatchObject({ text: 'Yes', logprobs: [{ token: 'Yes' }] });
  });
});
