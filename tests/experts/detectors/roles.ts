import { parse } from 'yaml';
import type { AskOnce } from '../../../experts/asking/ask-once.ts';
import {
  createDetector,
  type DetectorConfigInput,
  detectorSchema,
} from '../../../experts/detectors/create-detector.ts';
import type { ChatService } from '../../../experts/llm/chat.ts';
import type { EndpointInput } from '../../../experts/llm/endpoint.ts';
import { type JudgingTask, judgingTaskSchema } from '../../../experts/tasks/task-file.ts';
import type { Prefix, Thread } from '../../../src/data/thread.ts';
import { prefixOf } from '../../../src/data/thread.ts';
import type { ScriptedLlmServer } from '../../llm-server/scripted-llm-server.ts';
import type { ChatBody, ScriptedReply } from '../../llm-server/scripted-rule.ts';
import { quickService, startServer } from '../llm/service.ts';
import { threadOf } from '../threads.ts';

type Reply = ScriptedReply | string;
/** What the model of a role answers: always the same, one after the other, or as the request makes it. */
export type Part = Reply | readonly Reply[] | ((body: ChatBody, turn: number) => Reply);

/** A server where the model's name is the role that is asked, so that a test reads who was asked when. */
export async function startRoles(parts: Readonly<Record<string, Part>>) {
  const turns = new Map<string, number>();
  const server = await startServer((body) => {
    const turn = turns.get(body.model) ?? 0;
    turns.set(body.model, turn + 1);
    const part = parts[body.model];
    if (part === undefined) return { status: 400, message: `nobody plays ${body.model}` };
    if (typeof part === 'function') return part(body, turn);
    return isList(part) ? part[Math.min(turn, part.length - 1)] : part;
  });
  return server;
}

function isList(part: Part): part is readonly Reply[] {
  return Array.isArray(part);
}

/** The roles asked so far; within each phase of so many requests, made at the same time, in alphabetical order. */
export function phasesOf(server: ScriptedLlmServer, sizes: readonly number[]): string[][] {
  const asked = server.requests.map(({ body }) => body.model);
  let start = 0;
  const phases = sizes.map((size) => {
    start += size;
    return asked.slice(start - size, start).sort();
  });
  const rest = asked.slice(start);
  return rest.length === 0 ? phases : [...phases, rest];
}

/** What a role was asked, the last message of each request. */
export function askedOf(server: ScriptedLlmServer, role: string): string[] {
  return server.requests
    .filter(({ body }) => body.model === role)
    .map(({ body }) => body.messages.at(-1)?.content ?? '');
}

export function role(server: { baseURL: string }, name: string, more: Partial<EndpointInput> = {}): EndpointInput {
  return { name, baseURL: server.baseURL, model: name, ...more };
}

export function detectorOf(settings: {
  config: DetectorConfigInput;
  task: JudgingTask;
  service?: ChatService;
  askOnce?: AskOnce;
}) {
  const { config, task, service = quickService(), askOnce } = settings;
  return createDetector({ config: detectorSchema.parse(config), task, service, askOnce });
}

export function verdict(side: string, explanation = `because ${side}`): string {
  return JSON.stringify({ reason: explanation, answer: side });
}

export const rumorTask = judgingTaskSchema.parse({
  name: 'rumor',
  subject: 'sequence of social media posts',
  question: 'Is it a rumor?',
  labels: [
    { name: 'non-rumor', description: 'established', answers: ['No', 'Non-rumor'] },
    { name: 'rumor', description: 'not verified', answers: ['Yes', 'Rumor'] },
  ],
});

export const fourWayTask = judgingTaskSchema.parse({
  name: 'veracity',
  subject: 'sequence of social media posts',
  question: 'What is its veracity?',
  labels: ['non-rumor', 'true', 'false', 'unverified'].map((name) => ({
    name,
    description: `it is ${name}`,
    answers: [name],
  })),
});

export const categoryTask = judgingTaskSchema.parse(
  parse(`
name: science
subject: tweet
question: Which categories?
categories:
  - { name: claim, description: it contains a scientific claim }
  - { name: reference, description: it refers to a study }
  - { name: entities, description: it mentions scientists }
implications:
  - { if: reference, implies: entities }
`),
);

export const thread = threadOf({
  id: 't',
  texts: ['A dam broke', 'Oh no, terrible', 'Fake news, no source', 'Stay safe', 'It did not break'],
});

export function prefix(length: number, of: Thread = thread): Prefix {
  return prefixOf(of, length);
}
