import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { PromiseCache } from '../../src/promise-cache.ts';
import type { KeptParts, PartQuestion } from '../annotations/kept-calls.ts';
import type { Usage } from '../detector.ts';
import { chatJson } from '../llm/answers/chat-json.ts';
import { type ChatAnswer, type ChatService, usageOf } from '../llm/chat.ts';
import type { Endpoint } from '../llm/endpoint.ts';

export interface SharedQuestion<T> extends Omit<PartQuestion, 'threadId' | 'prefixLength'> {
  /** What a kept answer must still be. */
  readonly schema: z.ZodType<T>;
}

/** An answer, as JSON, with what it took where it is kept as a part. */
export interface SharedAnswer {
  readonly json: string;
  readonly usage: Usage | null;
}

/** Asks a question whose answer is plain JSON; once for all who put the same question. */
export type AskShared = <T>(
  question: SharedQuestion<T>,
  ask: () => Promise<{ readonly value: T; readonly answers?: readonly ChatAnswer[] }>,
) => Promise<T>;

/** An asker for one judgement. Its answers are those of all judgements that use the same cache or the same kept parts. */
export function sharedAsker(options: {
  /** Questions under way in this process; without kept parts, the answered ones, too. */
  cache: PromiseCache<SharedAnswer>;
  keptParts: KeptParts | undefined;
  /** Where the question is asked now. */
  place: { readonly threadId: string; readonly prefixLength: number };
  /** Without kept parts: gets the answers of the questions that nobody has asked before. */
  onAnswers: (answers: readonly ChatAnswer[]) => void;
  /** With kept parts: gets what the answer took, whoever asked for it first. */
  onPart: (usage: Usage) => void;
}): AskShared {
  const { cache, keptParts, place, onAnswers, onPart } = options;
  return async ({ schema, ...question }, ask) => {
    const askOrFind = async (): Promise<SharedAnswer> => {
      if (keptParts === undefined) {
        const { value, answers = [] } = await ask();
        onAnswers(answers);
        return { json: JSON.stringify(value), usage: null };
      }
      const { transcript, usage } = await keptParts.part({ ...question, ...place }, async () => {
        const { value, answers = [] } = await ask();
        const transcript = [{ role: question.detector, text: JSON.stringify(value) }];
        return { label: null, probabilities: null, explanation: '', transcript, usage: usageOf(answers) };
      });
      return { json: transcript[0]?.text ?? '', usage };
    };
    const key = JSON.stringify(question);
    const { json, usage } = await cache.get(key, askOrFind);
    if (usage !== null) onPart(usage);
    // From now on the store knows the answer, so this process need not hold it as well.
    if (keptParts !== undefined) cache.delete(key);
    const parsed = schema.safeParse(jsonOrUndefined(json));
    if (parsed.success) return parsed.data;
    throw new InputError(
      `the annotation store holds a damaged answer of ${question.detector} for thread ${place.threadId}; restore the store ` +
        `from an export or a copy (${z.prettifyError(parsed.error).replace(/\s+/g, ' ')})`,
    );
  };
}

/** A language model in a role. */
export interface RoleModel {
  readonly service: ChatService;
  readonly endpoint: Endpoint;
  /** What of the endpoint can change an answer. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Asks a model a question that it answers from the question's own words, so that the same words need no second answer. */
export function askModel<T>(question: {
  model: RoleModel;
  /** The detector's name, a slash and what is asked, as annotations of parts are called. */
  part: string;
  version: string;
  promptVersion: unknown;
  content: string;
  schema: z.ZodType<T>;
  dryRunValue: T;
  shortestDryRunValue?: T | undefined;
  askShared: AskShared;
}): Promise<T> {
  const { model, part, version, promptVersion, content, schema, dryRunValue, askShared } = question;
  const { shortestDryRunValue = dryRunValue } = question;
  const { service, endpoint } = model;
  const schemaName = part.replace(/^.*\//, '').replaceAll('-', '_');
  return askShared(
    { detector: part, version, options: { promptVersion, model: model.options }, input: content, schema },
    () =>
      chatJson({
        service,
        endpoint,
        messages: [{ role: 'user', content }],
        schema,
        schemaName,
        dryRunValue,
        shortestDryRunValue,
      }),
  );
}
