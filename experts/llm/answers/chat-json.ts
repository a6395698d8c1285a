import { z } from 'zod';
import type { ChatAnswer, ChatRequest, ChatService } from '../chat.ts';
import { askWithRepair, type Reading } from './ask-with-repair.ts';
import { parseLeniently } from './lenient-json.ts';

export interface ChatJsonRequest<T> extends Omit<ChatRequest, 'dryRunText' | 'shortestDryRunText' | 'jsonSchema'> {
  readonly service: ChatService;
  /** What the answer must look like. The model is shown its descriptions. */
  readonly schema: z.ZodType<T>;
  /** A short name for the schema, which some endpoints require. */
  readonly schemaName: string;
  /** The value that a dry run pretends to receive; it is checked like an answer. */
  readonly dryRunValue: unknown;
  /** What an answer that holds several values must say in all of them, such as its verdict. */
  readonly decisive?: ((value: T) => unknown) | undefined;
  /** The same for the fewest calls. */
  readonly shortestDryRunValue?: unknown;
}

export interface ChatJsonAnswer<T> {
  readonly value: T;
  /** The last one was used; one before it had to be repaired. */
  readonly answers: readonly ChatAnswer[];
}

/**
 * Asks for JSON and reads it. An answer that does not fit the schema, was cut off or refused is sent back once, with the
 * reason. Capitals and punctuation decide nothing.
 * @throws MalformedAnswerError where the second answer does not fit either
 */
export async function chatJson<T>(options: ChatJsonRequest<T>): Promise<ChatJsonAnswer<T>> {
  const {
    service,
    schema,
    schemaName,
    dryRunValue,
    shortestDryRunValue = dryRunValue,
    decisive,
    messages,
    ...call
  } = options;
  const jsonSchema = toJsonSchema(schema);
  const last = messages[messages.length - 1];
  const instruction = `Answer with JSON only, matching this JSON Schema:\n${JSON.stringify(jsonSchema)}`;
  // The schema also goes into the message: some endpoints support no schemas, and json_object modes insist on the
  // word JSON.
  const asked =
    last?.role === 'user'
      ? [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${instruction}` }]
      : [...messages, { role: 'user' as const, content: instruction }];
  return askWithRepair({
    service,
    request: {
      ...call,
      messages: asked,
      dryRunText: JSON.stringify(dryRunValue),
      shortestDryRunText: JSON.stringify(shortestDryRunValue),
      jsonSchema: { name: schemaName, schema: jsonSchema },
    },
    read: (answer) => readJson({ text: answer.text, schema, decisive }),
    instruction: 'Answer again with the corrected JSON only.',
    wanted: `the JSON asked for (${schemaName})`,
  });
}

function readJson<T>(options: {
  text: string;
  schema: z.ZodType<T>;
  decisive: ChatJsonRequest<T>['decisive'];
}): Reading<T> {
  const { text, schema, decisive } = options;
  const candidates = extractJson(text);
  if (candidates.length === 0) return { problem: 'it holds no complete JSON value.' };
  const values: T[] = [];
  let problem = '';
  for (const candidate of candidates) {
    const parsed = parseLeniently(schema, candidate);
    if (parsed.success) values.push(parsed.data);
    else problem ||= `the JSON does not fit the schema:\n${z.prettifyError(parsed.error)}`;
  }
  if (values.length === 0) return { problem };
  if (decisive && new Set(values.map(decisive)).size > 1)
    return { problem: `it holds ${values.length} JSON values that contradict each other.` };
  return { value: values[0] };
}

function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-7',
  });
  return jsonSchema;
}

/**
 * The JSON values that a model's text may contain, likeliest first: the whole text, then fenced blocks, then objects
 * and arrays between other words. Later ones come first, since models think before they answer. Nothing is repaired.
 */
export function extractJson(answer: string): unknown[] {
  const fenced = fencedBlocks(answer).reverse();
  for (const texts of [[answer], fenced, embeddedValues(answer).reverse()]) {
    const values = texts.flatMap(parsed);
    if (values.length > 0) return values;
  }
  return [];
}

function parsed(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

/** What stands between fences, without the language's name. Split, because a regular expression would go over it again and again. */
function fencedBlocks(text: string): string[] {
  const parts = text.split('```');
  return parts
    .filter((_, index) => index % 2 === 1 && index < parts.length - 1)
    .map((part) => part.replace(/^[\w-]*/, ''));
}

/** What can be the beginning of an object or an array. */
const BEGINNING = /\{\s*["}]|\[\s*["{[\]\-\dtfn]/y;

/** How often, on average, a character may be looked at. Only a text of nothing but brackets needs so many looks. */
const LOOKS = 20;

/**
 * The outermost balanced {…} and […] of a text; brackets inside strings do not count. Takes time in proportion to the
 * text's length: of a text that is made to take longer, the rest is not read.
 */
function embeddedValues(text: string): string[] {
  const found: string[] = [];
  let looks = LOOKS * text.length;
  for (let start = 0; start < text.length && looks > 0; start++) {
    BEGINNING.lastIndex = start;
    if (!BEGINNING.test(text)) continue;
    const { isBalanced, end } = balanced(text, { start, atMost: looks });
    looks -= end - start;
    if (!isBalanced || parsed(text.slice(start, end)).length === 0) continue;
    found.push(text.slice(start, end));
    start = end - 1;
  }
  return found;
}

/** Where the brackets opened at `start` are closed, or where looking ended. */
function balanced(text: string, options: { start: number; atMost: number }): { isBalanced: boolean; end: number } {
  const { start, atMost } = options;
  const last = Math.min(text.length, start + atMost);
  let depth = 0;
  let inString = false;
  for (let index = start; index < last; index++) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return { isBalanced: true, end: index + 1 };
  }
  return { isBalanced: false, end: last };
}
