import type { z } from 'zod';
import { once, type RememberedCall, type RememberedCalls } from '../annotations/remembered-calls.ts';
import type { Usage } from '../detector.ts';
import { type ChatAnswer, type ChatService, usageOf } from '../llm/chat.ts';
import { chatJson } from '../llm/chat-json.ts';
import type { Endpoint } from '../llm/endpoint.ts';

export interface Question<T> extends Omit<RememberedCall, 'threadId' | 'prefixLength'> {
  /** What an answer that was kept must still be. */
  readonly schema: z.ZodType<T>;
}

export interface Known {
  readonly text: string;
  readonly usage: Usage | null;
}

/** Asks for plain JSON, once for each question, however often and from wherever it is put. */
export type AskOnce = <T>(
  question: Question<T>,
  ask: () => Promise<{ readonly value: T; readonly answers?: readonly ChatAnswer[] }>,
) => Promise<T>;

export function askOnceIn(options: {
  /** Questions under way in this process and, where nothing else remembers, those answered. */
  known: Map<string, Promise<Known>>;
  remember: RememberedCalls | undefined;
  /** Where it is asked now. */
  place: { readonly threadId: string; readonly prefixLength: number };
  /** Gets the answers where nothing else counts what they cost. */
  onAnswers: (answers: readonly ChatAnswer[]) => void;
  /** Gets what an answer took that is remembered, whoever asked for it first. */
  onPart: (usage: Usage) => void;
}): AskOnce {
  const { known, remember, place, onAnswers, onPart } = options;
  return async ({ schema, ...question }, ask) => {
    const key = JSON.stringify(question);
    const { text, usage } = await once<Known>({
      known,
      key,
      ask: async () => {
        if (remember === undefined) {
          const { value, answers = [] } = await ask();
          onAnswers(answers);
          return { text: JSON.stringify(value), usage: null };
        }
        const judgement = await remember.remember({ ...question, ...place }, async () => {
          const { value, answers = [] } = await ask();
          const transcript = [{ role: question.detector, text: JSON.stringify(value) }];
          return { label: null, probabilities: null, explanation: '', transcript, usage: usageOf(answers) };
        });
        return { text: judgement.transcript[0].text, usage: judgement.usage };
      },
    });
    if (usage !== null) onPart(usage);
    // A store answers from now on; this process need not keep it, too.
    if (remember !== undefined) known.delete(key);
    return schema.parse(JSON.parse(text));
  };
}

/** A language model in a role. */
export interface RoleModel {
  readonly service: ChatService;
  readonly endpoint: Endpoint;
  /** What of the endpoint can change an answer. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Puts a question that is answered from its words alone, so that the same one needs no second answer. */
export function askModel<T>(question: {
  model: RoleModel;
  /** The detector's name, a slash and what is asked, as annotations of parts are called. */
  part: string;
  version: string;
  promptVersion: number;
  content: string;
  schema: z.ZodType<T>;
  dryRunValue: T;
  askOnce: AskOnce;
}): Promise<T> {
  const { model, part, version, promptVersion, content, schema, dryRunValue, askOnce } = question;
  const { service, endpoint } = model;
  const schemaName = part.replace(/^.*\//, '').replaceAll('-', '_');
  return askOnce(
    { detector: part, version, options: { promptVersion, model: model.options }, input: content, schema },
    () => chatJson({ service, endpoint, messages: [{ role: 'user', content }], schema, schemaName, dryRunValue }),
  );
}
