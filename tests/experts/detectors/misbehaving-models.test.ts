import { describe, expect, it } from 'vitest';
import type { DetectorConfigInput } from '../../../experts/detectors/create-detector.ts';
import { MalformedAnswerError } from '../../../experts/llm/failures.ts';
import { chatStanceOptionsSchema, createChatStanceModel } from '../../../experts/task-models/chat/stance.ts';
import { stanceClasses } from '../../../experts/task-models/task-model.ts';
import type { ChatBody, ScriptedReply } from '../../llm-server/scripted-rule.ts';
import { quickService, startServer } from '../llm/service.ts';
import { detectorOf, prefix, role, rumorTask } from './roles.ts';

/*
 * One model that misbehaves behind every detector: whatever it says, there is the right label or a failure, never a wrong
 * label. The model always means non-rumor, or nothing.
 */

type Say = (verdict: string) => ScriptedReply | string;

/** The answer in the form that the prompt asks for, with the verdict in it. */
function wellFormed(body: ChatBody, verdict: string): string {
  const asked = body.messages.map(({ content }) => content).join('\n');
  if (asked.includes('"score"')) return '{"reason": "r", "score": -0.5}';
  if (asked.includes('"subclaims"')) return '{"core": "A dam broke", "subclaims": []}';
  if (asked.includes('"domain"')) return '{"domain": "Floods", "expert": "Engineer"}';
  const fields = ['explanation', 'reasoning', 'analysis', 'knowledge', 'logic'].filter((key) =>
    asked.includes(`"${key}"`),
  );
  const decision = ['verdict', 'decision'].find((key) => asked.includes(`"${key}"`));
  if (decision !== undefined)
    return JSON.stringify({
      ...Object.fromEntries(fields.map((key) => [key, 'It is a rumor, they say.'])),
      [decision]: verdict,
    });
  return verdict;
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
  'It is a rumor. Final verdict: rumor\nYes\nrumor\n{"explanation": "e", "reasoning": "r", "verdict": "rumor", "decision": "rumor"}';

/** Each makes the model say the same verdict in its own way. */
const readable: Record<string, (text: string) => ScriptedReply | string> = {
  plainly: (text) => text,
  'after a closed tag': (text) => `<think>${think}</think>\n\n${text}`,
  'after a closing tag alone': (text) => `${think}\n</think>\n\n${text}`,
  'after another tag': (text) => `<thinking>${think}</thinking>${text}`,
  'in the final channel': (text) =>
    `<|channel|>analysis<|message|>${think}<|end|><|start|>assistant<|channel|>final<|message|>${text}<|return|>`,
  'beside reasoning_content': (text) => message({ content: text, reasoning_content: think }),
  'in parts': (text) =>
    message({
      content: [
        { type: 'thinking', thinking: think },
        { type: 'text', text },
      ],
    }),
  'with another hyphen': (text) => text.replaceAll('non-rumor', 'non\u2011rumor'),
  'with a space for the hyphen': (text) => text.replaceAll('non-rumor', 'Non rumor'),
  'in capitals': (text) => text.replaceAll('non-rumor', 'NON-RUMOR'),
  'with a full stop': (text) => text.replaceAll('non-rumor', 'non-rumor.'),
  'in bold': (text) => text.replaceAll('non-rumor', '**Non-rumor**'),
  'with an end token': (text) => `${text}<|im_end|>`,
};

/** None of these is a verdict. */
const unreadable: Record<string, (text: string) => ScriptedReply | string> = {
  'cut off': (text) => ({ text: text.replaceAll('non-rumor', 'rumor'), finishReason: 'length' }),
  'cut off, in the words of another service': (text) => {
    return { text: text.replaceAll('non-rumor', 'rumor'), finishReason: 'MAX_TOKENS' };
  },
  'broken off': (text) => ({ text: text.replaceAll('non-rumor', 'rumor'), finishReason: 'abort' }),
  'the question': (text) => (text.startsWith('{') ? '{"verdict": "rumor | non-rumor"}' : 'Respond Yes or No only.'),
  repeated: (text) => (text.startsWith('{') ? `${text} ${text.replaceAll('non-rumor', 'rumor')}` : 'rumor rumor rumor'),
  'cut off in its thinking': () => ({ text: `<think>${think}`, finishReason: 'stop' }),
  'refused in a field': () => ({ text: null, refusal: 'No, I cannot help with that.\nrumor' }),
  'refused in words': () => "No, I can't help with that.",
  'filtered half-way': (text) => ({ text: text.replaceAll('non-rumor', 'rumor'), finishReason: 'content_filter' }),
  'not believed': () => 'I do not believe that this is a rumor',
  'not evident': () => 'There is no evidence that it is a rumor',
  doubted: () => 'It is not entirely a rumor',
  quoted: () => 'They call it a "rumor"',
  'both at once': () => 'rumor or non-rumor',
  asked: () => 'rumor?',
  nothing: () => message({ content: null, reasoning_content: think }),
};

function message(own: object): ScriptedReply {
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  return { body: JSON.stringify({ choices: [{ message: own, finish_reason: 'stop' }], usage }) };
}

async function judgeWith(name: string, say: Say) {
  const server = await startServer((body) => say(wellFormed(body, 'non-rumor')));
  const detector = await detectorOf({ config: detectors[name](server), task: rumorTask });
  return detector.judge(prefix(2)).catch((error: unknown) => error);
}

describe.each(Object.keys(detectors))('%s', (name) => {
  it.each(Object.keys(readable))('reads what is said %s', async (way) => {
    expect(await judgeWith(name, readable[way])).toMatchObject({ label: 'non-rumor' });
  });

  it.each(Object.keys(unreadable))('reads nothing where the answer is %s', async (way) => {
    expect(await judgeWith(name, unreadable[way])).toBeInstanceOf(MalformedAnswerError);
  });
});

describe('chat task models', () => {
  const predictWith = async (say: Say) => {
    const server = await startServer(() => say('Stance: Deny, Reason: r'));
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
