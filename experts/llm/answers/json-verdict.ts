import { z } from 'zod';
import { jsonOrUndefined } from '../../../src/json.ts';
import { ANSWER_MARKS } from './answer-grammar.ts';
import { type AnswerWords, escaped, namedAnswers, type ReadLine, readLine } from './answer-words.ts';
import { contradictsKey } from './whole-json.ts';

/*
 * An answer in JSON: an object with one key that means "answer" and, beside it, nothing but reasons. A confidence beside it may take
 * the answer back, so an object with any other key is none.
 */

const REASON =
  /^(?:reasons?|reasoning|explanation|rationale|analysis|justification|thoughts?|thinking|thought_?process|evidence|steps?)$/i;
/** No text holds more braces than that before its answer. */
const MOST_BRACES = 50;

const objectSchema = z.record(z.string(), z.unknown());
const reasonSchema = z.union([z.string(), z.array(z.string()).transform((parts) => parts.join('\n')), z.null()]);

export interface JsonVerdict extends Pick<ReadLine, 'label'> {
  /** Where the value of the answer begins in the text. */
  readonly at: number;
  /** What is said before the JSON. */
  readonly before: string;
  /** What its reasons say. */
  readonly reason: string;
}

/** The answer in the JSON object that ends a text. Null where none does; a problem where it is no answer. */
export function readJsonVerdict(text: string, words: AnswerWords): JsonVerdict | { readonly problem: string } | null {
  const ending = lastObject(text);
  if (ending === null) return null;
  const wanted = `its JSON holds no "answer" that is one of: ${namedAnswers(words)}, and nothing but a reason beside it.`;
  const entries = Object.entries(ending.object);
  const answers = entries.filter(([key]) => ANSWER_MARKS.test(key.toLowerCase()));
  const reasons = entries.filter((entry) => !answers.includes(entry));
  const read = reasonSchema.array().safeParse(reasons.map(([, value]) => value));
  const [key, said] = answers.length === 1 ? answers[0] : ['', null];
  const line = typeof said === 'string' ? readLine(said, words) : null;
  if (line === null || !read.success || !reasons.every(([key]) => REASON.test(key))) return { problem: wanted };
  if (contradictsKey(ending.json)) return { problem: 'a key stands twice in it, with two values.' };
  const value = [...ending.json.matchAll(new RegExp(`"${escaped(key)}"\\s*:\\s*"`, 'g'))].at(-1);
  const at = ending.start + (value === undefined ? 0 : value.index + value[0].length);
  return { label: line.label, at, before: ending.before, reason: read.data.map((each) => each ?? '').join('\n') };
}

function lastObject(text: string) {
  const said = text.trimEnd();
  const body = said.endsWith('```') ? said.slice(0, -3).trimEnd() : said;
  if (!body.endsWith('}')) return null;
  let start = -1;
  for (let tried = 0; tried < MOST_BRACES; tried++) {
    start = body.indexOf('{', start + 1);
    if (start < 0) return null;
    const json = body.slice(start);
    const object = objectSchema.safeParse(jsonOrUndefined(json)).data;
    if (object) return { object, json, start, before: body.slice(0, start).replace(/```\w*\s*$/, '') };
  }
  return null;
}
