import { z } from 'zod';
import { canonicalJson } from '../../../src/content-hash.ts';
import { type AnswerReader, type ChatAnswer, whyIncomplete } from '../chat.ts';
import { completionReaderVersion } from './completion.ts';
import { readVerdict, verdictReaderVersion } from './verdict.ts';
import { jsonReaderVersion, readWholeJson } from './whole-json.ts';

/** The current readers. The completion reader is applied first. */
export const readerVersions = {
  completion: completionReaderVersion,
  verdict: verdictReaderVersion,
  json: jsonReaderVersion,
} as const;

/** The reading of an answer in one line: a label or JSON; null if unreadable. */
export function outcomeOf(
  reader: AnswerReader,
  answer: Pick<ChatAnswer, 'text' | 'finishReason' | 'thinking'>,
): string | null {
  if (whyIncomplete(answer) !== null) return null;
  const reading =
    reader.name === 'verdict' ? readVerdict(answer, reader.words) : readWholeJson(answer.text, schemaOf(reader.schema));
  if ('problem' in reading) return null;
  return reader.name === 'json'
    ? canonicalJson(reading.value)
    : z.object({ label: z.string() }).parse(reading.value).label;
}

const schemas = new WeakMap<object, z.ZodType>();

function schemaOf(json: Readonly<Record<string, unknown>>): z.ZodType {
  const schema = schemas.get(json) ?? z.fromJSONSchema(json);
  schemas.set(json, schema);
  return schema;
}
