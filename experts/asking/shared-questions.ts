import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import type { Judgement, Usage } from '../detector.ts';
import { chatJson } from '../llm/answers/ask-with-repair.ts';
import { type ChatAnswer, type ChatService, usageOf } from '../llm/chat.ts';
import type { Endpoint } from '../llm/endpoint.ts';
import { MalformedAnswerError, orUnreadable } from '../llm/failures.ts';
import type { AskOnce, Question } from './ask-once.ts';

type Answered = Pick<Judgement, 'label' | 'explanation' | 'transcript'> & { readonly answers: readonly ChatAnswer[] };

/**
 * Asks for a part of a judgement that other judgements share word for word.
 * @param counts answers and parts of the judgement that needs the part
 */
export type AskPart = (
  question: Question,
  counts: { readonly answers: ChatAnswer[]; readonly parts: Usage[] },
  ask: () => Promise<Answered>,
) => Promise<Judgement>;

/**
 * Asks each part once. With `askOnce`, a part is an annotation that counts its usage, and each judgement that uses it
 * counts it as part usage. Without it, a part is asked once per process, and the first judgement alone counts it.
 */
export function partAsker(askOnce: AskOnce | undefined): AskPart {
  const judgements = new PromiseCache<Judgement | MalformedAnswerError>();
  return async (question, counts, ask) => {
    const judged = async (): Promise<Judgement> => {
      const { label, explanation, transcript, answers } = await ask();
      if (askOnce === undefined) counts.answers.push(...answers);
      return { label, probabilities: null, explanation, transcript, usage: usageOf(answers) };
    };
    if (askOnce !== undefined) {
      const judgement = await askOnce(question, judged);
      counts.parts.push(judgement.usage);
      return judgement;
    }
    const { threadId: _, prefixLength: __, ...words } = question;
    const answer = await judgements.get(JSON.stringify(words), () => orUnreadable(judged()));
    if (answer instanceof MalformedAnswerError) throw answer;
    return answer;
  };
}

interface SharedQuestion<T> extends Omit<Question, 'threadId' | 'prefixLength'> {
  /** The schema of the answer, also of a stored one. */
  readonly schema: z.ZodType<T>;
}

export interface SharedAnswer<T> {
  readonly value: T;
  /** The usage of the answer, even if another judgement asked first. */
  readonly usage: Usage;
}

/** Asks a question with an answer in plain JSON, once for all callers with the same question. */
export type AskShared = <T>(
  question: SharedQuestion<T>,
  ask: () => Promise<{
    readonly value: T;
    readonly answers?: readonly ChatAnswer[];
    /** The label and the explanation of the annotation, for people. */
    readonly label?: string;
    readonly explanation?: string;
  }>,
) => Promise<SharedAnswer<T>>;

/** Asks shared questions as parts of one judgement. */
export function sharedAsker(options: {
  askPart: AskPart;
  /** The place where the question is asked now. */
  place: Pick<Question, 'threadId' | 'prefixLength'>;
  /** The usage of the judgement so far. */
  counts: Parameters<AskPart>[1];
}): AskShared {
  const { askPart, place, counts } = options;
  return async ({ schema, ...question }, ask) => {
    const { transcript, usage } = await askPart({ ...question, ...place }, counts, async () => {
      const { value, answers = [], label = null, explanation = '' } = await ask();
      const transcript = [{ role: question.detector, text: JSON.stringify(value) }];
      return { label, explanation, transcript, answers };
    });
    const parsed = schema.safeParse(jsonOrUndefined(transcript[0]?.text ?? ''));
    if (parsed.success) return { value: parsed.data, usage };
    throw new InputError(
      `the annotation store holds a damaged answer of ${question.detector} for post ${place.prefixLength} of thread ${place.threadId}; restore the store ` +
        `from an export or a copy (${z.prettifyError(parsed.error).replace(/\s+/g, ' ')})`,
    );
  };
}

/** A language model in a role. */
export interface RoleModel {
  readonly service: ChatService;
  readonly endpoint: Endpoint;
  /** The endpoint's settings that can change an answer. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface ModelQuestion<T> {
  readonly model: RoleModel;
  /** The name of the part in annotations: the detector's name, a slash and the question's. */
  readonly part: string;
  readonly version: string;
  readonly promptVersion: unknown;
  readonly content: string;
  readonly schema: z.ZodType<T>;
  readonly dryRunValue: T;
  readonly shortestDryRunValue?: T;
  readonly askShared: AskShared;
}

/** Asks a model a question that its own words answer, so that equal words need no second answer. */
export function askModel<T>(question: ModelQuestion<T>): Promise<SharedAnswer<T>> {
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
