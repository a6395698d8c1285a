import { z } from 'zod';
import { jsonOrUndefined } from '../../../src/json.ts';
import { answerWord, namesAsWords } from './answer-words.ts';

/** The value of an answer, or the problem as a sentence that its model can act upon. */
export type ReadAnswer<T> = { readonly value: T } | { readonly problem: string };

/** The schema in the form that endpoints and models see. */
export function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-7',
  });
  return jsonSchema;
}

/** The value of a text that is one JSON value, possibly in a fence; undefined for any other text. */
function wholeJson(text: string): unknown {
  return jsonOrUndefined(/^```\w*([\s\S]*)```$/.exec(text.trim())?.[1] ?? text);
}

/** Reads a text that is one JSON value. Only enum values are normalised, like answer words, and numbers in quotes. */
export function readWholeJson<T>(text: string, schema: z.ZodType<T>): ReadAnswer<T> {
  const value = wholeJson(text);
  if (value === undefined) return { problem: 'it is not one complete JSON value and nothing else.' };
  if (contradictsKey(text)) return { problem: 'a key stands twice in it, with two values.' };
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  const forgiven = schema.safeParse(parsed.error.issues.reduce(mended, value));
  if (forgiven.success) return { value: forgiven.data };
  // The model is told the first problem, which is about its own words.
  return { problem: `the JSON does not fit the schema:\n${z.prettifyError(parsed.error)}` };
}

/** The value with the text that an issue is about in the spelling that the schema wants. */
function mended(value: unknown, issue: z.core.$ZodIssue): unknown {
  const [key, ...path] = issue.path;
  if (key === undefined) return typeof value === 'string' ? respelt(value, issue) : value;
  const inside = (item: unknown) => mended(item, { ...issue, path });
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? inside(item) : item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, name === key ? inside(item) : item]));
}

function respelt(text: string, issue: z.core.$ZodIssue): unknown {
  if (issue.code === 'invalid_type' && issue.expected === 'number')
    return /^\s*[+-]?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text;
  if (issue.code !== 'invalid_value') return text;
  const options = issue.values.filter((option) => typeof option === 'string');
  return answerWord(text, namesAsWords(options))?.label ?? text;
}

/** Whether a key occurs twice with different values: `JSON.parse` takes the last, but the model may mean either. */
function contradictsKey(json: string): boolean {
  const open: Map<string, string | null>[] = [];
  let last = '';
  let key: string | null = null;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]|[^\s{}[\]:,"]+/g)) {
    // Escapes are spellings: "\u0061" is "a".
    const value = jsonOrUndefined(token);
    const inside = open.at(-1);
    if (key !== null && inside) {
      const text = value === undefined ? null : JSON.stringify(value);
      if (inside.has(key) && (text === null || inside.get(key) !== text)) return true;
      inside.set(key, text);
      key = null;
    }
    if (token === '{') open.push(new Map());
    else if (token === '}') open.pop();
    else if (token === ':') key = String(jsonOrUndefined(last));
    last = token;
  }
  return false;
}
