import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import type { ChatAnswer, ChatRequest } from '../llm/chat.ts';
import type { AnnotationDatabase } from './database.ts';

/** Identifies a call of a judgement. */
export interface CallId {
  /** Key of the annotation that the judgement has or will have. */
  readonly judgement: string;
  /** Which call of the judgement it is. */
  readonly call: string;
}

const bodySchema = z
  .union([z.string(), z.instanceof(ArrayBuffer).transform((bytes) => inflateRawSync(bytes).toString())])
  .nullable()
  .describe('what came over the wire; null where nothing did');

const keptSchema = z.object({
  number: z.number().describe('in the order in which they came'),
  judgement: z.string(),
  call: z.string(),
  isUsable: z
    .literal([0, 1])
    .transform(Boolean)
    .describe('false where it could not be read, so that whoever asks again is not given it'),
  askedModel: z.string(),
  model: z.string().nullable().describe('the one that says it answered; null where none says so'),
  fingerprint: z.string().nullable(),
  finishReason: z.string(),
  date: z.string(),
  body: bodySchema,
});

/** An answer word for word. */
export type KeptResponse = z.infer<typeof keptSchema>;

/** Longer bodies are compressed, because log-probabilities are long and repetitive. */
const LONG = 1000;

/**
 * Every answer of a language model, in the table `response`. An unfinished judgement resumes with its answers; the
 * others show what a model answered. Exports contain judgements only.
 */
export function responseTable(database: AnnotationDatabase) {
  /** The usable answer of a call, as JSON and word for word; null without one. */
  function find({ judgement, call }: CallId): { readonly answer: string; readonly body: string | null } | null {
    const sql = 'SELECT answer, body FROM response WHERE judgement = ? AND call = ? AND usable = 1';
    return database.read(sql, [judgement, call], foundSchema)[0] ?? null;
  }

  /** Writes an answer to disk. Returns false if the call has one already, or its judgement is stored. */
  function keep({ judgement, call }: CallId, exchange: { request: ChatRequest; answer: ChatAnswer }): boolean {
    const { response, logprobs, ...answer } = exchange.answer;
    // The body contains the log-probabilities, which are long.
    const json = JSON.stringify({ ...answer, logprobs: response === undefined ? logprobs : null });
    // After another process has stored the judgement, its calls are useless.
    const sql = `INSERT OR IGNORE INTO response
                 (judgement, call, usable, asked_model, model, fingerprint, finish_reason, answer, body, date)
                 SELECT ?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
                 WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`;
    const { body = null, model = null, fingerprint = null } = response ?? {};
    const source = [exchange.request.endpoint.model, model, fingerprint, answer.finishReason];
    return database.write(sql, judgement, call, ...source, json, body && pack(body)) === 1;
  }

  /** Marks answers as unusable. */
  function discard(calls: readonly CallId[]): void {
    const sql = 'UPDATE response SET usable = 0 WHERE judgement = ? AND call = ?';
    for (const { judgement, call } of calls) database.write(sql, judgement, call);
  }

  /** The answers of these judgements, in the order in which they came. */
  function of(judgements: readonly string[]): KeptResponse[] {
    const sql = `SELECT number, judgement, call, usable AS isUsable, asked_model AS askedModel, model, fingerprint,
                 finish_reason AS finishReason, date, body
                 FROM response WHERE judgement IN (SELECT value FROM json_each(?)) ORDER BY number`;
    return database.read(sql, [JSON.stringify(judgements)], keptSchema);
  }

  return { find, keep, discard, of };
}

export type ResponseTable = ReturnType<typeof responseTable>;

function pack(body: string): string | Uint8Array {
  return body.length > LONG ? deflateRawSync(body, { level: 1 }) : body;
}

const foundSchema = z.object({ answer: z.string(), body: bodySchema });
