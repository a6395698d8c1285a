import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import type { ChatAnswer, ChatRequest } from '../llm/chat.ts';
import type { AnnotationDatabase } from './database.ts';

/** Names a call of a judgement. */
export interface CallId {
  /** Key of the annotation that the judgement has, or will have. */
  readonly judgement: string;
  /** Which of the judgement's calls it is. */
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
  reader: z.string().nullable().describe('as JSON, with its versions; null where nobody reads it but another model'),
  outcome: z.string().nullable().describe('null where it could not be read'),
});

/** An answer as it was given, and how it was read then. */
export type KeptResponse = z.infer<typeof keptSchema>;

/** Bodies of more characters are compressed: log-probabilities are long and repeat themselves. */
const LONG = 1000;

/**
 * Every answer of a language model, in the table `response`: those of a judgement that is not finished, which goes on with them,
 * and those of all judgements and unreadable answers, for whoever wants to know what was said. Exports have judgements alone.
 */
export function responseTable(database: AnnotationDatabase) {
  /** The answer in use for this call, as JSON and as it came; null where there is none. */
  function find({ judgement, call }: CallId): { readonly answer: string; readonly body: string | null } | null {
    const sql = 'SELECT answer, body FROM response WHERE judgement = ? AND call = ? AND usable = 1';
    return database.read(sql, [judgement, call], foundSchema)[0] ?? null;
  }

  /** On disk when it returns. The first answer stays: false where there is one already, or the judgement itself. */
  function keep(
    { judgement, call }: CallId,
    kept: { request: ChatRequest; answer: ChatAnswer; reader: string | null; outcome: string | null },
  ): boolean {
    const { request, reader, outcome } = kept;
    const { response, logprobs, ...answer } = kept.answer;
    // Log-probabilities are in the body, and long.
    const json = JSON.stringify({ ...answer, logprobs: response === undefined ? logprobs : null });
    // Once another process has stored the judgement, its calls are of no use.
    const sql = `INSERT OR IGNORE INTO response
                 SELECT NULL, ?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
                 WHERE NOT EXISTS (SELECT 1 FROM annotation WHERE key = ?1)`;
    const { body = null, model = null, fingerprint = null } = response ?? {};
    const source = [request.endpoint.model, model, fingerprint, answer.finishReason];
    return database.write(sql, judgement, call, ...source, json, body && packed(body), reader, outcome) === 1;
  }

  /** Puts these answers out of use, or back into it. */
  function use(calls: readonly CallId[], isUsable: boolean): void {
    const sql = 'UPDATE OR IGNORE response SET usable = ? WHERE judgement = ? AND call = ? AND usable <> ?';
    for (const { judgement, call } of calls) database.write(sql, Number(isUsable), judgement, call, Number(isUsable));
  }

  /** Notes how answers are read now. */
  function note(reading: Pick<KeptResponse, 'number' | 'reader' | 'outcome'>): void {
    const { number, reader, outcome } = reading;
    database.write('UPDATE response SET reader = ?, outcome = ? WHERE number = ?', reader, outcome, number);
  }

  /** The answers of these judgements, in the order in which they came. */
  function of(judgements: readonly string[]): KeptResponse[] {
    const sql = `SELECT number, judgement, call, usable AS isUsable, asked_model AS askedModel, model, fingerprint,
                 finish_reason AS finishReason, date, body, reader, outcome
                 FROM response WHERE judgement IN (SELECT value FROM json_each(?)) ORDER BY number`;
    return database.read(sql, [JSON.stringify(judgements)], keptSchema);
  }

  /** Keys of the judgements that have answers here, those that are not finished included. */
  function judgements(): string[] {
    const rows = database.read('SELECT DISTINCT judgement FROM response', [], keySchema);
    return rows.map(({ judgement }) => judgement);
  }

  return { find, keep, use, note, of, judgements };
}

export type ResponseTable = ReturnType<typeof responseTable>;

function packed(body: string): string | Uint8Array {
  return body.length > LONG ? deflateRawSync(body, { level: 1 }) : body;
}

const foundSchema = z.object({ answer: z.string(), body: bodySchema });
const keySchema = keptSchema.pick({ judgement: true });
