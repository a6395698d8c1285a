import { describe, expect, it } from 'vitest';
import type { DetectorConfigInput } from '../../../experts/detectors/create-detector.ts';
import { chatStanceOptionsSchema, createChatStanceModel } from '../../../experts/task-models/chat/stance.ts';
import { stanceClasses } from '../../../experts/task-models/task-model.ts';
import { judgingTaskSchema } from '../../../experts/tasks/task-file.ts';
import { ProviderError } from '../../../src/errors.ts';
import type { ChatBody, ScriptedReply } from '../../llm-server/scripted-rule.ts';
import { quickService, startServer } from '../llm/service.ts';
import { detectorOf, prefix, role, rumorTask } from './roles.ts';

/*
 * One model that misbehaves behind every detector: whatever it says, there is the label that it gives in the form that is asked
 * for, or a failure. The model always means non-rumor, or nothing. It is asked by a JSON schema, and in plain text where its
 * endpoint takes no schema.
 */

type Say = (verdict: string) => ScriptedReply | string;

const task = judgingTaskSchema.parse({
  ...rumorTask,
  labels: rumorTask.labels?.map((label) => ({ ...label, answers: [label.name] })),
});

/** The answer in the form that is asked for, with the verdict in it. */
function wellFormed(body: ChatBody, verdict: string): string {
  const asked = body.messages.map(({ content }) => content).join('\n');
  if (asked.includes('"score"')) return '{"reason": "r", "score": -0.5}';
  if (asked.includes('Yes or No')) return 'No';
  if (asked.includes('"analysis"')) return JSON.stringify({ analysis: 'It is a rumor, they say.', verdict });
  const reason = asked.includes('End with a line') ? 'It is a rumor, they say.' : null;
  if (body.response_format !== undefined)
    return JSON.stringify({ ...(reason !== null && { reason }), answer: verdict });
  return reason === null ? verdict : `${reason}\n${verdict}`;
}

const noEvidence = { entities: { method: 'patterns' as const }, cutoff: { date: '2018-03-01' } };
const detectors: Record<string, (server: { baseURL: string }) => DetectorConfigInput> = {
  'single-prompt': (server) => ({ name: 'single-prompt', model: role(server, 'm') }),
  s2mad: (server) => ({ name: 's2mad', models: { supporter: role(server, 'm') }, rounds: 1 }),
  'debate-single': (server) => ({ name: 'debate-single', models: { proponent: role(server, 'm') }, rounds: 0 }),
  'debate-team': (server) => {
    return { name: 'debate-team', models: { proponents: [role(server, 'm')], judge: role(server, 'm') }, rounds: 0 };
  },
  'debate-council': (server) => {
    const models = { members: [role(server, 'm'), role(server, 'm')], chairperson: role(server, 'm') };
    return { name: 'debate-council', models, rounds: 1 };
  },
  zofia: (server) => ({
    name: 'zofia',
    models: { judge: role(server, 'm') },
    use: { web: false, wikipedia: false, claims: false, expert: false },
    sides: { real: 'non-rumor', fake: 'rumor' },
    maxRounds: 1,
    retrieval: noEvidence,
  }),
};

const think =
  'It is a rumor. Final verdict: rumor\nYes\nAnswer: rumor\n{"analysis": "a", "reason": "r", "verdict": "rumor", "answer": "rumor"}';

/** Each makes the model say the same verdict in its own way. */
const readable: Record<string, (text: string) => ScriptedReply | string> = {
  plainly: (text) => text,
  'after a closed tag': (text) => `<think>${think}</think>\n\n${text}`,
  'after a closing tag alone': (text) => `${think}\n</think>\n\n${text}`,
  'after another tag': (text) => `<thinking>${think}</thinking>${text}`,
  'in the final channel': (text) =>
    `<|channel|>analysis<|message|>${think}<|end|><|start|>assistant<|channel|>final<|message|>${text}<|return|>`,
  'after a mark that nobody has heard of': (text) => `<ponder>${think}</ponder>\n${text}`,
  'after special tokens that nobody has heard of': (text) => `<|START_PONDERING|>${think}<|END_PONDERING|>${text}`,
  'in the final channel, as JSON': (text) => `<|channel|>final <|constrain|>json<|message|>${text}`,
  'behind parts that are marked as thoughts': (text) =>
    message({
      content: [
        { type: 'text', text: think, thought: true },
        { type: 'text', text },
      ],
    }),
  'twice, where it is a word': (text) => (text.startsWith('{') ? text : `${text}\n${text}`),
  'beside reasoning_content': (text) => message({ content: text, reasoning_content: think }),
  'in parts': (text) =>
    message({
      content: [
        { type: 'thinking', thinking: think },
        { type: 'text', text },
      ],
    }),
  'with another hyphen': (text) => text.replaceAll('non-rumor', 'non\u2011rumor'),
  'in capitals': (text) => text.replaceAll('non-rumor', 'NON-RUMOR'),
  'in quotation marks': (text) => text.replaceAll('non-rumor', '\u201cnon-rumor\u201d'),
  'in bold': (text) => text.replaceAll('non-rumor', '**Non-rumor**'),
  'with an end token': (text) => `${text}<|im_end|>`,
  'in a fence, where it is JSON': (text) => (text.startsWith('{') ? `\`\`\`json\n${text}\n\`\`\`` : text),
  'without a finish reason': (text) => message({ content: text }, null),
};

const instead = (text: string, word: string) => text.replaceAll('non-rumor', word);
const ended = (finishReason: string) => (text: string) => ({ text: instead(text, 'rumor'), finishReason });

/** None of these is a verdict. */
const unreadable: Record<string, (text: string) => ScriptedReply | string> = {
  'cut off': ended('length'),
  'cut off, in the words of another service': ended('MAX_TOKENS'),
  'broken off': ended('abort'),
  'filtered half-way': ended('content_filter'),
  'ended for a reason that nobody has heard of': ended('guardrail_intervened'),
  'a call of a tool': (text) => message({ content: instead(text, 'rumor'), tool_calls: [{ function: { name: 'f' } }] }),
  'beside an error': (text) => {
    const choice = { message: { content: instead(text, 'rumor') }, finish_reason: 'stop' };
    return { body: JSON.stringify({ choices: [choice], error: { message: 'overloaded' } }) };
  },
  'the question': (text) => instead(text, 'rumor, non-rumor'),
  'repeated with another label': (text) => `${text}\n${instead(text, 'rumor')}`,
  'a draft that is taken back': (text) =>
    `\`\`\`json\n${instead(text, 'rumor')}\n\`\`\`\nThat is wrong, it is:\n${text}.`,
  'cut off in its thinking': () => ({ text: `<think>${think}`, finishReason: 'stop' }),
  'behind a mark of any name that is never closed': (text) => `<ponder>\n${instead(text, 'rumor')}`,
  'a part that is marked as a thought': (text) =>
    message({ content: [{ type: 'text', text: instead(text, 'rumor'), thought: true }] }),
  'behind a conclusion that says otherwise': (text) => `So the answer is ${text}.\nAnswer: rumor`,
  'behind a refusal, as JSON': (text) =>
    `I cannot help with that.\n{"answer": ${JSON.stringify(instead(text, 'rumor'))}}`,
  'a sentence': (text) => `It is a ${instead(text, 'rumor')}, and that is my answer.`,
  announced: (text) => instead(text, 'Answer: rumor'),
  'twice, as JSON': () => '{"answer": "rumor"}\n{"answer": "rumor"}',
  'under another name': () => '{"verdict": "rumor"}',
  'with a confidence': () => '{"reason": "r", "answer": "rumor", "confidence": 0}',
  'refused in a field': () => ({ text: null, refusal: 'No, I cannot help with that.\nAnswer: rumor' }),
  'refused in words': () => "No, I can't help with that.",
  'not believed': () => 'I do not believe that this is a rumor',
  'not the last word': (text) => `${text}\nOr so they say.`,
  'of another form': () => '{"rumor": false}',
  'with a space for the hyphen': (text) => instead(text, 'Non rumor'),
  'struck out': (text) => instead(text, '~~rumor~~'),
  negated: (text) => instead(text, '\u2260 rumor'),
  asked: (text) => instead(text, 'rumor?'),
  nothing: () => message({ content: null, reasoning_content: think }),
};

/** What these end with is an answer in the form that is asked for. What stands before it is prose, which is not read. */
const takenAtItsWord: Record<string, (text: string) => string> = {
  'behind a refusal': (text) => `I cannot help with that.\n${instead(text, 'rumor')}`,
  'behind a conclusion that says otherwise': (text) => `So the answer is ${text}, no doubt.\nrumor`,
  'behind an offer to choose': () => 'rumor, non-rumor\nrumor',
};

function message(own: object, finish_reason: string | null = 'stop'): ScriptedReply {
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  return { body: JSON.stringify({ choices: [{ message: own, finish_reason }], usage }) };
}

const modes = ['by a schema', 'in plain text'] as const;

async function judgeWith(name: string, { mode, say }: { mode: (typeof modes)[number]; say: Say }) {
  const server = await startServer((body) => {
    const isRefused = mode === 'in plain text' && body.response_format !== undefined;
    return isRefused
      ? { status: 400, message: 'response_format is not supported' }
      : say(wellFormed(body, 'non-rumor'));
  });
  const detector = await detectorOf({ config: detectors[name](server), task });
  return detector.judge(prefix(2)).catch((error: unknown) => error);
}

/** In plain text there are two forms, a word and a last line, each read in one place. */
const inPlainText = ['single-prompt', 'debate-single'];

describe.each(
  Object.keys(detectors).flatMap((name) =>
    modes.filter((mode) => mode === 'by a schema' || inPlainText.includes(name)).map((mode) => ({ name, mode })),
  ),
)('$name, asked $mode,', ({ name, mode }) => {
  it.each(Object.keys(readable))('reads what is said %s', async (way) => {
    expect(await judgeWith(name, { mode, say: readable[way] })).toMatchObject({ label: 'non-rumor' });
  });

  it.each(Object.keys(unreadable))('reads nothing where the answer is %s', async (way) => {
    expect(await judgeWith(name, { mode, say: unreadable[way] })).toBeInstanceOf(ProviderError);
  });
});

it.each(inPlainText.flatMap((name) => Object.keys(takenAtItsWord).map((way) => ({ name, way }))))(
  '$name, asked in plain text, reads the last line $way',
  async ({ name, way }) => {
    const say = takenAtItsWord[way];
    expect(await judgeWith(name, { mode: 'in plain text', say })).toMatchObject({ label: 'rumor' });
  },
);

describe('chat task models', () => {
  const predictWith = async (say: Say) => {
    const server = await startServer(() => say('r\nDeny'));
    const options = chatStanceOptionsSchema.parse({ name: 'chat', model: role(server, 'm') });
    const model = createChatStanceModel({ options, service: quickService() });
    const [prediction] = await model.predict([{ threadId: 't', claim: 'c', post: 'p' }]);
    return [...prediction.distribution];
  };
  const uniform = stanceClasses.map(() => 1 / stanceClasses.length);

  it.each(['after a closed tag', 'after a closing tag alone', 'in the final channel', 'beside reasoning_content'])(
    'read what is said %s',
    async (way) => {
      const distribution = await predictWith(readable[way]);
      expect(distribution.indexOf(Math.max(...distribution))).toBe(stanceClasses.indexOf('deny'));
      expect(distribution).not.toEqual(uniform);
    },
  );

  it.each(['cut off', 'cut off in its thinking', 'refused in a field', 'refused in words', 'filtered half-way'])(
    'read nothing where the answer is %s',
    async (way) => {
      expect(await predictWith(unreadable[way])).toEqual(uniform);
    },
  );
});
