import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askVerdict, readVerdict, verdictProbabilities } from '../../../../experts/llm/answers/verdict.ts';
import type { LiveChatService } from '../../../../experts/llm/sending/live-chat-service.ts';
import type { ScriptedLlmServer } from '../../../llm-server/scripted-llm-server.ts';
import { inTurn, type ScriptedRule } from '../../../llm-server/scripted-rule.ts';
import { ask, endpointAt, quickService, startServer } from '../service.ts';

const words = { rumor: ['Yes', 'Rumor'], 'non-rumor': ['No', 'Non-rumor'] };
const labels = { 'non-rumor': ['non-rumor'], rumor: ['rumor'] };
const veracity = { 'non-rumor': ['non-rumor'], true: ['True'], false: ['False'], unverified: ['Unverified'] };

function labelOf(
  text: string,
  { words: own = words, reasons = false }: Partial<Parameters<typeof readVerdict>[1]> = {},
) {
  const read = readVerdict({ text }, { words: own, reasons });
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
    ['Answer: Yes', 'rumor'],
    ['ANSWER: "yes".', 'rumor'],
    ['**Answer:** Yes', 'rumor'],
    ['**Answer**: Yes.', 'rumor'],
    ['**Answer: Yes**', 'rumor'],
    ['**Answer:** **Yes**', 'rumor'],
    ['Non\u2011rumor', 'non-rumor'],
    ['non\u2013rumor.', 'non-rumor'],
    ['\u200eRu\u200bmor', 'rumor'],
    ['{"answer": "Yes"}', 'rumor'],
    ['```json\n{"answer": "**no**"}\n```', 'non-rumor'],
    ['```\nNo\n```', 'non-rumor'],
    ['{"Answer": "Yes"}', 'rumor'],
    ['{"answer": "Rumor"}', 'rumor'],
    ['{"verdict": "Yes", "explanation": "It is one."}', 'rumor'],
    ['{"answer": "Yes", "answer": "Yes"}', 'rumor'],
    ['{"answer": "Yes"}\n{"answer": "Yes"}', 'rumor'],
    ['["Yes"]', 'rumor'],
    ['Yes\nYes\n\nYes', 'rumor'],
    ['Yes. Yes.', 'rumor'],
    ['no no no', 'non-rumor'],
    ['It is a rumor. It is a rumor.', 'rumor'],
    ['Yes, it is a rumor.', 'rumor'],
    ['Yes (rumor)', 'rumor'],
    ['- Yes', 'rumor'],
    ['1. No', 'non-rumor'],
    ['Answer: Yes, it is a rumor.', 'rumor'],
    ['Yes, it is.', 'rumor'],
    ['No, it is not a rumor.', 'non-rumor'],
    ["No, it isn't.", 'non-rumor'],
    ['## Final answer\n\nNo', 'non-rumor'],
    ['Nobody says where it comes from.\nAnswer: Yes', 'rumor'],
  ])('reads %j as %j', (text, label) => {
    expect(labelOf(text)).toBe(label);
  });

  it.each([
    ['是。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'rumor'],
    ['「非谣言」。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'non-rumor'],
    ['**否。**', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'non-rumor'],
    ['Answer：是', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'rumor'],
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
    expect(labelOf(text, { words: own })).toBe(label);
  });

  // Each was a label once, or would be to a reader of patterns.
  it.each([
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
    'Yes?\nNo',
    '{"answer": "Yes", "verdict": "No"}',
    '{"answer": "Yes", "reason": "So the answer is No."}',
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
    expect(labelOf(text, { reasons: true })).toBeNull();
  });
});

describe('a last line', () => {
  const of = (text: string, own: typeof labels | typeof veracity = labels) =>
    labelOf(text, { words: own, reasons: true });

  it.each([
    ['Some say it is no rumor.\n\nAnswer: rumor', 'rumor'],
    ['So.\r\n**Answer: Rumor.**\r\n', 'rumor'],
    ['So.\nAnswer: "non\u2011rumor"', 'non-rumor'],
    ['Answer: rumor\nSo I said, and I say it again.\nAnswer: rumor', 'rumor'],
    ['> Answer: rumor.\nSo I say:\n**Answer: rumor**', 'rumor'],
    ['rumor', 'rumor'],
    ['{"reason": "It is no rumor, they say.", "answer": "rumor"}', 'rumor'],
    ['{"answer": "rumor", "reason": "because"}', 'rumor'],
    ['{"answer": "rumor"}', 'rumor'],
    ['Well: {"reason": "r", "answer": "rumor"}', 'rumor'],
    ['Here it is:\n```json\n{"reason": "r", "answer": "rumor"}\n```', 'rumor'],
    ['So.\nrumor', 'rumor'],
    ['So. Answer: rumor', 'rumor'],
    ['So.\n- Answer: rumor', 'rumor'],
    ['So.\nFinal answer: rumor', 'rumor'],
    ['So.\n### Answer\nrumor', 'rumor'],
    ['No source. Therefore, the answer is rumor.', 'rumor'],
    ['```\nSo.\nAnswer: rumor\n```', 'rumor'],
    ['So.\n<answer>rumor</answer>', 'rumor'],
    ['So.\n\\boxed{rumor}', 'rumor'],
  ])('reads %j as %j', (text, label) => {
    expect(of(text)).toBe(label);
  });

  it.each([
    'Options:\n- non-rumor\n- rumor',
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
    'The list is\nrumor',
    'So.\nAnswer: rumor?',
    'So.\nAnswer: not a rumor',
    'So.\nAnswer: rumor, I think',
    'So.\nAnswer: rumor or non-rumor',
    'So.\nAnswer: ~~rumor~~',
    'So.\nAnswer: rumor\n```',
    'So.\nAnswer:',
    '{"reason": "Answer: non-rumor", "answer": "rumor"}',
    '{"reason": "So.\\nAnswer: non-rumor\\nNo:", "answer": "rumor"}',
    '{"reason": "cut',
    '{"reason": "r", "answer": "non-rumor"} Wait: {"reason": "r", "answer": "rumor"}',
  ])('reads nothing in %j', (text) => {
    expect(of(text)).toBeNull();
  });

  // A reason that agrees, in the words of one that does not.
  it.each([
    ['The police confirmed it, so the answer is non-rumor.\nAnswer: non-rumor', 'non-rumor'],
    ['This is not a rumor.\nAnswer: non-rumor', 'non-rumor'],
    ['It should not be labelled a rumor.\nAnswer: non-rumor', 'non-rumor'],
    ['The answer is rumor, not non-rumor.\nAnswer: rumor', 'rumor'],
    ['Therefore, it is most likely a rumor.\nAnswer: rumor', 'rumor'],
    ['The post is spreading a rumor.\nAnswer: rumor', 'rumor'],
    ['The answer depends on whether the rumor was confirmed.\nAnswer: rumor', 'rumor'],
    ['Options: rumor or non-rumor.\nNobody names a source.\nAnswer: rumor', 'rumor'],
    ["The proponent's conclusion is that it is a rumor.\nAnswer: non-rumor", 'non-rumor'],
    ['Some say that it is a non-rumor.\nAnswer: rumor', 'rumor'],
    ['It could be a non-rumor.\nAnswer: rumor', 'rumor'],
    ['If it were confirmed, the answer would be non-rumor.\nAnswer: rumor', 'rumor'],
    ['There is no evidence for the rumor.\nAnswer: rumor', 'rumor'],
    ['"I cannot believe it", says the post.\nAnswer: rumor', 'rumor'],
    ['I cannot find a source, and I would say that no one can.\nAnswer: rumor', 'rumor'],
    ['Let me look. I think that my opponent is wrong.\nAnswer: rumor', 'rumor'],
    ['The police confirm it, which speaks against a rumor.\nAnswer: non-rumor', 'non-rumor'],
    ['There is no evidence that this is a rumor.\nAnswer: non-rumor', 'non-rumor'],
    ['It looks like a rumor at first.\nThe police confirmed it.\nAnswer: non-rumor', 'non-rumor'],
    ['Initially this seemed like a non-rumor, but the photo is old.\nAnswer: rumor', 'rumor'],
    ['Mi pare che i post non citano una fonte.\nAnswer: rumor', 'rumor'],
    ['{"reason": "non-rumor, rumor", "answer": "rumor"}', 'rumor'],
    ['{"reason": "Non-rumor or rumor. Nobody names a source.", "answer": "rumor"}', 'rumor'],
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
    '{"reason": "So the answer is non-rumor.", "answer": "rumor"}',
    '{"reason": "It is not a rumor.", "answer": "rumor"}',
    '{"answer": "non-rumor"}\nNo: {"answer": "rumor"}',
    'The police confirmed this, which rules out a rumor.\nAnswer: rumor',
    'There is no evidence that this is a rumor.\nAnswer: rumor',
    "I'm sorry, but I can't help with that.\nAnswer: rumor",
    'I will not judge people.\nAnswer: rumor',
    'I choose not to answer.\nAnswer: rumor',
    'As an AI language model, this is hard.\nAnswer: rumor',
    'My guidelines do not allow this.\nAnswer: rumor',
    '{"reason": "I cannot help with that.", "answer": "rumor"}',
  ])('is not read behind a reason that says otherwise: %j', (text) => {
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
    expect(labelOf(text, { words: own, reasons: true })).toBeNull();
  });

  it('keeps what was said before it', () => {
    const form = { words: labels, reasons: true };
    const text = 'It is so.\nTruly.\n\nAnswer: rumor.';
    expect(readVerdict({ text }, form)).toEqual({
      value: { label: 'rumor', reason: 'It is so.\nTruly.', at: text.indexOf('rumor') },
    });
    expect(readVerdict({ text: 'so\nAnswer: rumor' }, form)).toMatchObject({ value: { reason: 'so' } });
    const json = '{"reason": "\\"answer\\": \\"rumor\\" ", "answer": "rumor"}';
    expect(readVerdict({ text: json }, form)).toMatchObject({
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
  const forms = [
    { words, reasons: false },
    { words, reasons: true },
  ];

  it('are a verdict where they are marks, spaces, one stop and one "Answer:"', () => {
    fc.assert(
      fc.property(
        spaces,
        quoted,
        fc.boolean(),
        fc.boolean(),
        spaces,
        (space, [open, close], isLed, isStopped, after) => {
          const text = `${space}${isLed ? 'Answer: ' : ''}${open}No${close}${isStopped ? '.' : ''}${after}`;
          for (const form of forms) expect(labelOf(text, form)).toBe('non-rumor');
        },
      ),
      { seed: 27 },
    );
  });

  it('are none where letters, digits or any other signs are left', () => {
    const harmless = /[\s"'`*_.。．｡۔।!！()（）[\]$“”„‘’‚«»‹›「」『』《》【】＂\u00ad\u200b\u200e\u200f\u2060\ufeff]/gu;
    fc.assert(
      fc.property(fc.oneof(anyText, likelyText), fc.oneof(anyText, likelyText), (before, after) => {
        const text = `${before}Yes${after}`;
        const left = text
          .replace(/^\s*[-*•]\s/, '')
          .replace(harmless, '')
          .replace(/^Answer[:：]/i, '');
        // A model may repeat itself.
        const isWord = /^(?:(?:(?:answer:)?(?:yes|rumor)[,-]*)+|no)$/i.test(left);
        if (isWord) return;
        // Behind other lines, the last one is held to the same, unless it says that it is the answer.
        const last =
          text
            .trim()
            .split(/[\r\n]+/)
            .at(-1) ?? '';
        const ending = /(?:^|[.!?]["'`*”’»›」』》】)\]]*\s)[\s"'`*_“„‘«‹「『《【＂([]*Answer/i.test(last)
          ? labelOf(text)
          : labelOf(last);
        for (const form of forms) expect([null, ending]).toContain(labelOf(text, form));
        if (last === text.trim() && !/[.!?]["'`*”’»›」』》】)\]]*\s.*Answer|^[^\p{L}]*Answer/iu.test(text))
          expect([text, ending]).toEqual([text, null]);
      }),
      { seed: 27, numRuns: 400 },
    );
  });

  it('come to an end, however long they are', () => {
    for (const piece of ['"', '**', 'Answer:', '.', ' ', '\n', '{', '[', '```', '{"answer":', '“”', '\u200b'])
      for (const form of forms)
        expect(labelOf(`${piece.repeat(100_000)}Yes${piece.repeat(100_000)}`, form)).not.toBe('non-rumor');
  });
});

describe('verdictProbabilities', () => {
  const tokens = (...positions: Record<string, number>[]) =>
    positions.map((alternatives) => {
      const top = Object.entries(alternatives).map(([token, p]) => ({ token, logprob: Math.log(p) }));
      return { ...top[0], top };
    });
  const of = (text: string, logprobs: ReturnType<typeof tokens> | null, reasons = false) => {
    const read = readVerdict({ text }, { words, reasons });
    if ('problem' in read) throw new Error(read.problem);
    return verdictProbabilities({ answer: { text, logprobs }, verdict: read.value, words });
  };

  it.each([
    ['No', tokens({ No: 0.75, Yes: 0.25 })],
    [' No.', tokens({ ' No': 0.75, ' Yes': 0.25 }, { '.': 1 })],
    ['Answer: No', tokens({ Answer: 1 }, { ':': 1 }, { ' No': 0.75, ' Yes': 0.25 })],
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
    const logprobs = tokens(
      { 'Is it one?': 0.9, No: 0.1 },
      { '\n': 1 },
      { Answer: 1 },
      { ':': 1 },
      { ' No': 0.6, ' Yes': 0.4 },
    );
    expect(of('Is it one?\nAnswer: No', logprobs, true).probabilities?.rumor).toBeCloseTo(0.4, 12);
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

  it('asks once more, reads as strictly, and then gives up', async () => {
    const { server, asked } = await asking(inTurn(['No, I think.', '{"answer": "No"}', 'No?', 'Yes, sorry.']));
    const repaired = await asked();
    expect(repaired).toMatchObject({ label: 'non-rumor', probabilities: null, isDropped: false });
    expect(repaired.answers).toHaveLength(2);
    expect(server.requests[1].body.messages.at(-1)?.content).toBe(
      'Your answer could not be used: it is not exactly one of: Yes, No.\nAnswer with exactly one of: Yes, No.',
    );
    await expect(asked()).rejects.toThrow(/answered twice with something other than exactly one of: Yes, No/);
    expect(server.requests).toHaveLength(4);
  });

  it('counts probabilities that do not belong to the label', async () => {
    const text = '{"answer": "No"}';
    const tokens: Record<string, number>[] = [{ '{"answer": "': 1 }, { No: 0.007, Yes: 0.993 }, { '"}': 1 }];
    const { asked } = await asking(() => ({ text, tokens }));
    expect(await asked()).toMatchObject({ label: 'non-rumor', probabilities: null, isDropped: true });
  });
});
