import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerWords } from '../../../../experts/llm/answers/answer-words.ts';
import { askVerdict, readVerdict, verdictProbabilities } from '../../../../experts/llm/answers/verdict.ts';
import type { LiveChatService } from '../../../../experts/llm/sending/live-chat-service.ts';
import type { ScriptedLlmServer } from '../../../llm-server/scripted-llm-server.ts';
import { inTurn, type ScriptedRule } from '../../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from '../service.ts';

const words = { rumor: ['Yes', 'Rumor'], 'non-rumor': ['No', 'Non-rumor'] };
const labels = { 'non-rumor': ['non-rumor'], rumor: ['rumor'] };
const veracity = { 'non-rumor': ['non-rumor'], true: ['True'], false: ['False'], unverified: ['Unverified'] };

function labelOf(text: string, answers: AnswerWords = words) {
  const read = readVerdict({ text }, answers);
  return 'value' in read ? read.value.label : null;
}

describe('one word', () => {
  it.each([
    ['Yes', 'rumor'],
    [' \n yes.\n', 'rumor'],
    ['**No**', 'non-rumor'],
    ['*No.*', 'non-rumor'],
    ['"No".', 'non-rumor'],
    ['“Rumor”', 'rumor'],
    ['`No`', 'non-rumor'],
    ['Non\u2011rumor', 'non-rumor'],
    ['non\u2013rumor.', 'non-rumor'],
    ['\u200eRu\u200bmor', 'rumor'],
    ['{"answer": "Yes"}', 'rumor'],
    ['```json\n{"answer": "**no**"}\n```', 'non-rumor'],
    ['```\nNo\n```', 'non-rumor'],
    ['{"answer": "Yes", "answer": "Yes"}', 'rumor'],
    ['["Yes"]', 'rumor'],
    ['Yes\nYes\n\nYes', 'rumor'],
    ['## Final answer\n\nNo', 'non-rumor'],
    ['Nobody says where it comes from.\nYes', 'rumor'],
  ])('reads %j as %j', (text, label) => {
    expect(labelOf(text)).toBe(label);
  });

  it.each([
    ['是。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'rumor'],
    ['「非谣言」。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'non-rumor'],
    ['**否。**', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'non-rumor'],
    ['Answer：是', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, null],
    ['不是。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, null],
    ['是否', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, null],
    ['हाँ।', { yes: ['हाँ'], no: ['नहीं'] }, 'yes'],
    ['نعم۔', { yes: ['نعم'], no: ['لا'] }, 'yes'],
    ['«Да»', { yes: ['Да'], no: ['Нет'] }, 'yes'],
    ['vérifié.', { yes: ['Vérifié'.normalize('NFD')], no: ['Faux'] }, 'yes'],
    ['True', veracity, 'true'],
    ['not entirely true', veracity, null],
    ['Unverified: it may be true', veracity, null],
    ['U.S.', { us: ['U.S.'], uk: ['U.K.'] }, 'us'],
    ['same', { one: ['same'], other: ['Same'] }, null],
  ])('reads %j by the words of %j as %j', (text, own, label) => {
    expect(labelOf(text, own)).toBe(label);
  });

  // Each is asked for again. It means a label, or would to a reader of patterns.
  it.each([
    'Answer: Yes',
    'ANSWER: "yes".',
    '**Answer:** Yes',
    '**Answer**: Yes.',
    '**Answer: Yes**',
    '**Answer:** **Yes**',
    '{"Answer": "Yes"}',
    '{"answer": "Rumor"}',
    '{"verdict": "Yes", "explanation": "It is one."}',
    '{"answer": "Yes"}\n{"answer": "Yes"}',
    'Yes. Yes.',
    'no no no',
    'It is a rumor. It is a rumor.',
    'Yes, it is a rumor.',
    'Yes (rumor)',
    '- Yes',
    '1. No',
    'Answer: Yes, it is a rumor.',
    'Yes, it is.',
    'No, it is not a rumor.',
    "No, it isn't.",
    'Nobody says where it comes from.\nAnswer: Yes',
    '{"rumor": false}',
    '**Rumor:** false',
    'Yes, the correct answer is No.',
    'Yes, it is not a rumor.',
    'Yes, it is not.',
    'No, it is a rumor.',
    'No, it is.',
    'Yes. Yes. No.',
    'Yes yes no',
    'Yes\nNobody knows',
    '{"answer": "Yes", "verdict": "No"}',
    '{"answer": "Yes"}\n{"answer": "No"}',
    'No, there is not enough information to decide.',
    'No. **Answer: Yes**',
    'rumor?',
    '≠ rumor',
    '~~rumor~~',
    '> Rumor',
    '<answer>No, wait: <answer>Yes',
    'Options:\n- non-rumor\n- rumor',
    '```json\n{"answer": "Yes"}\n```\nThat is wrong, it is:\n```json\n{"answer": "No"}\n```',
    '{"answer": "Yes"} {"answer": "No"}',
    '{"answer": "Yes", "answer": "No"}',
    '{"answer": "Yes", "\\u0061nswer": "No"}',
    '{"answer": "Yes", "confidence": 0}',
    '{"answer": ["Yes"]}',
    '{"answer": "Yes?"}',
    '{"answer": "not Yes"}',
    '{"answer": true}',
    'true',
    'null',
    'Yes...',
    'Yes…',
    'Yes*',
    'Yes?',
    'Yes/No',
    'Yes or No',
    'Yes\nNo',
    'Yes - nobody confirms it',
    'Yes 50%',
    'Yes (low confidence)',
    'Yes\n\nConfidence: 10%',
    'Yes \u{1F914}',
    'Yes ❌',
    'Not yes',
    'No doubt it is one',
    'yesterday',
    'Y',
    'Answer: not a rumor',
    'Answer: Answer: Yes',
    'Wrong answer: Yes',
    'Answer Yes',
    'Non rumor',
    'Nonrumor',
    'It is a rumor: yes',
    '№',
    'Ⓨes',
    'Ｙｅｓ',
    'Yеs',
    '%Yes%',
    '/* Yes */',
    '<!-- Yes -->',
    "I'm sorry, but I can't say Yes",
    'As an AI language model I have no opinion',
    'Respond Yes or No only.',
    '"Yes" is what they say',
    '"Yes" or "No"',
    '**Yes** or **No**',
    '',
    ' ',
    '.',
    'Answer:',
    '**',
  ])('reads nothing in %j', (text) => {
    expect(labelOf(text)).toBeNull();
  });
});

describe('a last line', () => {
  const of = (text: string) => labelOf(text, labels);

  it.each([
    ['rumor', 'rumor'],
    ['{"reason": "It is no rumor, they say.", "answer": "rumor"}', 'rumor'],
    ['{"answer": "rumor", "reason": "because"}', 'rumor'],
    ['{"answer": "rumor"}', 'rumor'],
    ['So.\nrumor', 'rumor'],
    ['So.\n### Answer\nrumor', 'rumor'],
    ['So.\n<answer>rumor</answer>', 'rumor'],
    ['So.\n\\boxed{rumor}', 'rumor'],
    ['Some say it is no rumor.\n\nrumor', 'rumor'],
    ['So.\r\n**Rumor.**\r\n', 'rumor'],
    ['So.\n"non\u2011rumor"', 'non-rumor'],
    ['rumor\nSo I said, and I say it again.\nrumor', 'rumor'],
    ['The list is\nrumor', 'rumor'],
    ['> rumor.\nSo I say:\n**rumor**', 'rumor'],
  ])('reads %j as %j', (text, label) => {
    expect(of(text)).toBe(label);
  });

  it.each([
    'Some say it is no rumor.\n\nAnswer: rumor',
    'So.\r\n**Answer: Rumor.**\r\n',
    'So.\nAnswer: "non\u2011rumor"',
    'Answer: rumor\nSo I said, and I say it again.\nAnswer: rumor',
    '> Answer: rumor.\nSo I say:\n**Answer: rumor**',
    'Well: {"reason": "r", "answer": "rumor"}',
    'Here it is:\n```json\n{"reason": "r", "answer": "rumor"}\n```',
    'So. Answer: rumor',
    'So.\n- Answer: rumor',
    'So.\nFinal answer: rumor',
    'No source. Therefore, the answer is rumor.',
    '```\nSo.\nAnswer: rumor\n```',
    'Options:\n- non-rumor\n- rumor',
    'Options:\nnon-rumor\nrumor',
    'non-rumor\n\nrumor',
    'non-rumor.\nNo, wait.\n**rumor**',
    'Options:\nAnswer: non-rumor\nAnswer: rumor',
    'Answer: non-rumor\nNo, wait.\nAnswer: rumor',
    'Answer: <non-rumor or rumor>\nAnswer: rumor',
    'Answer: rumor\nbut who knows',
    'So.\n**Answer: non-rumor**, no wait.\nAnswer: rumor',
    '- Answer: non-rumor\nAnswer: rumor',
    'Final answer: non-rumor\nAnswer: rumor',
    'It is none. Answer: non-rumor.\nAnswer: rumor',
    '1) Answer: non-rumor\n2) Answer: rumor\nAnswer: rumor',
    '{"reason": "r", "answer": "non-rumor"}\nAnswer: rumor',
    'So.\n> Answer: rumor',
    'So.\nAnswer: rumor?',
    'So.\nAnswer: not a rumor',
    'So.\nAnswer: rumor, I think',
    'So.\nAnswer: rumor or non-rumor',
    'So.\nAnswer: ~~rumor~~',
    'So.\nAnswer: rumor\n```',
    'So.\nAnswer:',
    '{"reason": "cut',
    '{"reason": "r", "answer": "non-rumor"} Wait: {"reason": "r", "answer": "rumor"}',
  ])('reads nothing in %j', (text) => {
    expect(of(text)).toBeNull();
  });

  // What stands before the answer is not read, in no language.
  it.each([
    ['The police confirmed it, so the answer is non-rumor.\nnon-rumor', 'non-rumor'],
    ['This is not a rumor.\nnon-rumor', 'non-rumor'],
    ['It should not be labelled a rumor.\nnon-rumor', 'non-rumor'],
    ['The answer is rumor, not non-rumor.\nrumor', 'rumor'],
    ['Therefore, it is most likely a rumor.\nrumor', 'rumor'],
    ['The post is spreading a rumor.\nrumor', 'rumor'],
    ['The answer depends on whether the rumor was confirmed.\nrumor', 'rumor'],
    ['Options: rumor or non-rumor.\nNobody names a source.\nrumor', 'rumor'],
    ["The proponent's conclusion is that it is a rumor.\nnon-rumor", 'non-rumor'],
    ['Some say that it is a non-rumor.\nrumor', 'rumor'],
    ['It could be a non-rumor.\nrumor', 'rumor'],
    ['If it were confirmed, the answer would be non-rumor.\nrumor', 'rumor'],
    ['There is no evidence for the rumor.\nrumor', 'rumor'],
    ['"I cannot believe it", says the post.\nrumor', 'rumor'],
    ['I cannot find a source, and I would say that no one can.\nrumor', 'rumor'],
    ['Let me look. I think that my opponent is wrong.\nrumor', 'rumor'],
    ['The police confirm it, which speaks against a rumor.\nnon-rumor', 'non-rumor'],
    ['There is no evidence that this is a rumor.\nnon-rumor', 'non-rumor'],
    ['It looks like a rumor at first.\nThe police confirmed it.\nnon-rumor', 'non-rumor'],
    ['Initially this seemed like a non-rumor, but the photo is old.\nrumor', 'rumor'],
    ['Mi pare che i post non citano una fonte.\nrumor', 'rumor'],
    ['{"reason": "non-rumor, rumor", "answer": "rumor"}', 'rumor'],
    ['{"reason": "Non-rumor or rumor. Nobody names a source.", "answer": "rumor"}', 'rumor'],
    ['{"answer": "rumor", "reason": "So the answer is non-rumor."}', 'rumor'],
    ['{"reason": "So the answer is non-rumor.", "answer": "rumor"}', 'rumor'],
    ['{"reason": "It is not a rumor.", "answer": "rumor"}', 'rumor'],
    ['{"reason": "I cannot help with that.", "answer": "rumor"}', 'rumor'],
    ['{"reason": "Answer: non-rumor", "answer": "rumor"}', 'rumor'],
    ['{"reason": "So.\\nAnswer: non-rumor\\nNo:", "answer": "rumor"}', 'rumor'],
    ['non-rumor?\nrumor', 'rumor'],
    ['I cannot help with that.\nrumor', 'rumor'],
    ['Il dit que non.\nrumor', 'rumor'],
  ])('is read behind %j', (text, label) => {
    expect(of(text)).toBe(label);
  });

  it.each([
    'Non-rumor. Rumor.\nAnswer: rumor',
    'Rumor, non-rumor.\nAnswer: rumor',
    'Non-rumor, rumor, non-rumor.\nAnswer: rumor',
    'Non-rumor, not rumor.\nAnswer: rumor',
    'Non-rumor, rumor they say.\nAnswer: rumor',
    'Answer: non-rumor, rumor.\nAnswer: rumor',
    'non-rumor, rumor',
    'The answer is non-rumor.\nAnswer: rumor',
    'Nobody denies it, so the answer is non-rumor.\nAnswer: rumor',
    'The verdict must be non-rumor given the sources.\nAnswer: rumor',
    'The answer is not rumor.\nAnswer: rumor',
    'Conclusion: after all that was said, it is NOT a rumor.\nAnswer: rumor',
    'Conclusion: after all that was said, it is a non-rumor.\nAnswer: rumor',
    "So it isn't a rumor.\nAnswer: rumor",
    'This is not a rumor.\nAnswer: rumor',
    'This is a non-rumor. Answer: rumor',
    'Therefore, it is most likely a rumor.\nAnswer: non-rumor',
    'It should be labelled a rumor.\nAnswer: non-rumor',
    'I would classify the thread as a non-rumor.\nAnswer: rumor',
    'non-rumor\n\nAnswer: rumor',
    'Non-rumor, all things considered.\nAnswer: rumor',
    'Label: non-rumor. Hm.\nAnswer: rumor',
    'So: non-rumor.\nAnswer: rumor',
    'Everything taken together, the posts are a non-rumor.\nAnswer: rumor',
    'I lean towards non-rumor.\nAnswer: rumor',
    "I'd go with non-rumor.\nAnswer: rumor",
    'This means that the claim is a non-rumor.\nAnswer: rumor',
    'We conclude that the thread is not a rumor.\nAnswer: rumor',
    '{"answer": "non-rumor"}\nNo: {"answer": "rumor"}',
    'The police confirmed this, which rules out a rumor.\nAnswer: rumor',
    'There is no evidence that this is a rumor.\nAnswer: rumor',
    "I'm sorry, but I can't help with that.\nAnswer: rumor",
    'I will not judge people.\nAnswer: rumor',
    'I choose not to answer.\nAnswer: rumor',
    'As an AI language model, this is hard.\nAnswer: rumor',
    'My guidelines do not allow this.\nAnswer: rumor',
  ])('is no sentence: %j', (text) => {
    expect(of(text)).toBeNull();
  });

  it.each([
    ['所以答案是非谣言。\n答案：谣言', { 谣言: ['谣言'], 非谣言: ['非谣言'] }],
    ['这不是谣言。\n答案：谣言', { 谣言: ['谣言'], 非谣言: ['非谣言'] }],
    ['抱歉，我无法回答。\n答案：谣言', { 谣言: ['谣言'], 非谣言: ['非谣言'] }],
    ['La respuesta es verificado.\nRespuesta: bulo', { bulo: ['bulo'], verificado: ['verificado'] }],
    ['No es un bulo.\nRespuesta: bulo', { bulo: ['bulo'], verificado: ['verificado'] }],
    ["Ce n'est pas une rumeur.\nRéponse : rumeur", { rumeur: ['rumeur'], fait: ['fait'] }],
    ['Das ist kein Gerücht.\nAntwort: Gerücht', { Gerücht: ['Gerücht'], Fakt: ['Fakt'] }],
  ])('is not read in another language either: %j', (text, own) => {
    expect(labelOf(text, own)).toBeNull();
  });

  it('keeps what was said before it', () => {
    const text = 'It is so.\nTruly.\n\n**rumor**.';
    expect(readVerdict({ text }, labels)).toEqual({
      value: { label: 'rumor', reason: 'It is so.\nTruly.', at: text.indexOf('rumor') },
    });
    expect(readVerdict({ text: 'so\nrumor' }, labels)).toMatchObject({ value: { reason: 'so' } });
    const json = '{"reason": "\\"answer\\": \\"rumor\\" ", "answer": "rumor"}';
    expect(readVerdict({ text: json }, labels)).toMatchObject({
      value: { reason: '"answer": "rumor"', at: json.lastIndexOf('rumor') },
    });
  });
});

/** What may be taken away around an answer word, as the document says it, in other words than the reader's. */
const spaces = fc.constantFrom('', ' ', '\n', '\t', '\u00a0', '\u200b');
const quoted = fc.constantFrom<[string, string]>(
  ['', ''],
  ['"', '"'],
  ['**', '**'],
  ['“', '”'],
  ['「', '」'],
  ["'", "'"],
);
const anyText = fc.string({ unit: 'binary', maxLength: 12 });
const likelyText = fc
  .array(
    fc.constantFrom(
      'not',
      'No',
      'Yes',
      'rumor',
      '?',
      '!',
      '.',
      ',',
      ':',
      '\n',
      ' ',
      '"',
      '*',
      '-',
      'Answer:',
      '{',
      '}',
      '`',
    ),
    {
      maxLength: 6,
    },
  )
  .map((pieces) => pieces.join(''));

describe('random texts around an answer word', () => {
  it('are a verdict where they are marks, spaces and one stop, alone or behind other lines', () => {
    fc.assert(
      fc.property(
        spaces,
        quoted,
        fc.boolean(),
        fc.boolean(),
        spaces,
        (space, [open, close], isLast, isStopped, after) => {
          const text = `${isLast ? 'Some say so.\n' : ''}${space}${open}No${close}${isStopped ? '.' : ''}${after}`;
          expect(labelOf(text)).toBe('non-rumor');
        },
      ),
      { seed: 27 },
    );
  });

  it('are none where letters, digits or any other signs are left in the last line', () => {
    const harmless = /[\s"'`*_.。．｡۔।!！()（）[\]$“”„‘’‚«»‹›「」『』《》【】＂\u00ad\u200b\u200e\u200f\u2060\ufeff]/gu;
    const labelLeft = (text: string) =>
      ({ yes: 'rumor', rumor: 'rumor', no: 'non-rumor' })[text.replace(harmless, '').toLowerCase()] ?? null;
    fc.assert(
      fc.property(fc.oneof(anyText, likelyText), fc.oneof(anyText, likelyText), (before, after) => {
        const text = `${before}Yes${after}`;
        const last =
          text
            .trim()
            .split(/[\r\n]+/)
            .at(-1) ?? '';
        expect([null, labelLeft(text), labelLeft(last)]).toContain(labelOf(text));
      }),
      { seed: 27, numRuns: 4000 },
    );
  });

  it('come to an end, however long they are', () => {
    for (const piece of ['"', '**', 'Answer:', '.', ' ', '\n', '{', '[', '```', '{"answer":', '“”', '\u200b', 'Yes\n'])
      expect(labelOf(`${piece.repeat(100_000)}Yes${piece.repeat(100_000)}`)).not.toBe('non-rumor');
  });
});

describe('verdictProbabilities', () => {
  const tokens = (...positions: Record<string, number>[]) =>
    positions.map((alternatives) => {
      const top = Object.entries(alternatives).map(([token, p]) => ({ token, logprob: Math.log(p) }));
      return { ...top[0], top };
    });
  const of = (text: string, logprobs: ReturnType<typeof tokens> | null) => {
    const read = readVerdict({ text }, words);
    if ('problem' in read) throw new Error(read.problem);
    return verdictProbabilities({ answer: { text, logprobs }, verdict: read.value, words });
  };

  it.each([
    ['No', tokens({ No: 0.75, Yes: 0.25 })],
    [' No.', tokens({ ' No': 0.75, ' Yes': 0.25 }, { '.': 1 })],
    ['Hm.\n**No**', tokens({ Hm: 1 }, { '.\n': 1 }, { '**': 1 }, { No: 0.75, Yes: 0.25 }, { '**': 1 })],
    [
      '{"answer": "No"}',
      tokens({ '{"': 1 }, { answer: 1 }, { '":': 1 }, { ' "': 1 }, { No: 0.75, Yes: 0.25 }, { '"}': 1 }),
    ],
  ])('are those at the answer word of %j', (text, logprobs) => {
    const { probabilities, isDropped } = of(text, logprobs);
    expect(isDropped).toBe(false);
    expect(probabilities?.['non-rumor']).toBeCloseTo(0.75, 12);
  });

  it('pass over the words of a reason', () => {
    const logprobs = tokens({ 'Is it one?': 0.9, No: 0.1 }, { '\n': 1 }, { No: 0.6, Yes: 0.4 });
    expect(of('Is it one?\nNo', logprobs).probabilities?.rumor).toBeCloseTo(0.4, 12);
  });

  it('are dropped where another label is likelier, or no token is one', () => {
    expect(of('No', tokens({ No: 0.007, Yes: 0.993 }))).toEqual({ probabilities: null, isDropped: true });
    expect(of('No', tokens({ Hm: 1 }))).toEqual({ probabilities: null, isDropped: true });
    expect(of('No', [])).toEqual({ probabilities: null, isDropped: true });
    expect(of('No', null)).toEqual({ probabilities: null, isDropped: false });
  });
});

describe('askVerdict', () => {
  const asking = async (rule: ScriptedRule, more: { reasons?: boolean; service?: LiveChatService } = {}) => {
    const { reasons = false, service = quickService() } = more;
    const server = await startServer(rule);
    const request = { ...ask(endpointAt(server), 'Is it one?'), dryRunText: 'Yes', wantLogprobs: true };
    return { server, asked: () => askVerdict({ service, request, words, reasons }) };
  };
  const formats = (server: ScriptedLlmServer) => server.requests.map(({ body }) => body.response_format);

  it('gives the answers as an enum, after the reason where there is one', async () => {
    const { server, asked } = await asking(() => '{"reason": "So.", "answer": "No"}', { reasons: true });
    expect(await asked()).toMatchObject({ label: 'non-rumor', reason: 'So.', probabilities: null, isDropped: false });
    const answer = { type: 'string', enum: ['Yes', 'No'] };
    const schema = {
      type: 'object',
      properties: { reason: { type: 'string' }, answer },
      required: ['reason', 'answer'],
      additionalProperties: false,
    };
    expect(formats(server)).toEqual([{ type: 'json_schema', json_schema: { name: 'verdict', schema, strict: true } }]);
    expect(server.requests[0].body.messages).toEqual([{ role: 'user', content: 'Is it one?' }]);
  });

  it('asks in plain text alone where the endpoint takes no schema, and remembers it', async () => {
    const { server, asked } = await asking((body) =>
      body.response_format === undefined ? 'No.' : { status: 400, message: 'response_format is not supported' },
    );
    expect((await asked()).label).toBe('non-rumor');
    expect((await asked()).label).toBe('non-rumor');
    expect(formats(server).map((format) => format !== undefined)).toEqual([true, false, false]);
  });

  it('asks once more for the word alone, reads as strictly, and then gives up', async () => {
    const { server, asked } = await asking(inTurn(['No, I think.', '{"answer": "No"}', 'No?', 'Yes, sorry.']));
    const repaired = await asked();
    expect(repaired).toMatchObject({ label: 'non-rumor', reason: '', probabilities: null, isDropped: false });
    expect(repaired.answers).toHaveLength(2);
    expect(server.requests[1].body.messages).toEqual([
      { role: 'user', content: 'Is it one?' },
      { role: 'assistant', content: 'No, I think.' },
      { role: 'user', content: 'Answer Yes or No only.' },
    ]);
    await expect(asked()).rejects.toThrow(/answered twice with something other than Yes or No: neither it nor its/);
    expect(server.requests).toHaveLength(4);
  });

  it('asks a model that has given its reason for no other one', async () => {
    const { server, asked } = await asking(inTurn(['It is so, hence no rumor.', '{"answer": "No"}']), {
      reasons: true,
    });
    expect(await asked()).toMatchObject({ label: 'non-rumor', reason: 'It is so, hence no rumor.' });
    expect(formats(server)[1]).toMatchObject({ json_schema: { schema: { required: ['answer'] } } });
  });

  it('counts probabilities that do not belong to the label', async () => {
    const text = '{"answer": "No"}';
    const tokens: Record<string, number>[] = [{ '{"answer": "': 1 }, { No: 0.007, Yes: 0.993 }, { '"}': 1 }];
    const { asked } = await asking(() => ({ text, tokens }));
    expect(await asked()).toMatchObject({ label: 'non-rumor', probabilities: null, isDropped: true });
  });
});
