import { z } from 'zod';
import type { ChatAnswer, ChatRequest, ChatService } from './chat.ts';
import { MalformedAnswerError } from './failures.ts';

export interface ChatJsonRequest<T> extends Omit<ChatRequest, 'dryRunText' | 'shortestDryRunText' | 'jsonSchema'> {
  readonly service: ChatService;
  /** What the answer must look like. The model is shown its descriptions. */
  readonly schema: z.ZodType<T>;
  /** A short name for the schema, which some endpoints require. */
  readonly schemaName: string;
  /** The value that a dry run pretends to receive; it is checked like an answer. */
  readonly dryRunValue: unknown;
  /** The same for the fewest calls. */
  readonly shortestDryRunValue?: unknown;
}

export interface ChatJsonAnswer<T> {
  readonly value: T;
  /** The last one was used; one before it had to be repaired. */
  readonly answers: readonly ChatAnswer[];
}

/**
 * Asks for JSON and reads it. An answer that does not fit the schema is sent back once, with the reason.
 * @throws MalformedAnswerError where the second answer does not fit either
 */
export async function chatJson<T>(options: ChatJsonRequest<T>): Promise<ChatJsonAnswer<T>> {
  const { service, schema, schemaName, dryRunValue, shortestDryRunValue = dryRunValue, messages, ...call } = options;
  const jsonSchema = toJsonSchema(schema);
  const last = messages[messages.length - 1];
  const instruction = `Answer with JSON only, matching this JSON Schema:\n${JSON.stringify(jsonSchema)}`;
  // The schema also goes into the message: some endpoints support no schemas, and json_object modes insist on the
  // word JSON.
  const asked =
    last?.role === 'user'
      ? [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${instruction}` }]
      : [...messages, { role: 'user' as const, content: instruction }];
  const request: ChatRequest = {
    ...call,
    messages: asked,
    dryRunText: JSON.stringify(dryRunValue),
    shortestDryRunText: JSON.stringify(shortestDryRunValue),
    jsonSchema: { name: schemaName, schema: jsonSchema },
  };

  const first = await service.chat(request);
  const read = readAnswer({ answer: first, schema });
  if ('value' in read) return { value: read.value, answers: [first] };

  const second = await service.chat({
    ...request,
    messages: [
      ...asked,
      { role: 'assistant', content: first.text },
      {
        role: 'user',
        content: `Your answer could not be used: ${read.problem}\nAnswer again with the corrected JSON only.`,
      },
    ],
  });
  const repaired = readAnswer({ answer: second, schema });
  if ('value' in repaired) return { value: repaired.value, answers: [first, second] };
  throw new MalformedAnswerError(
    `endpoint ${call.endpoint.name} (model ${call.endpoint.model}) answered twice with something other than the JSON ` +
      `asked for (${schemaName}): ${repaired.problem} The answer began: ${JSON.stringify(second.text.slice(0, 200))}. ` +
      'It counts as unanswered and is asked again by the next run; a larger model or maxTokens may help.',
    { lastAnswer: second.text },
  );
}

function readAnswer<T>(options: {
  answer: ChatAnswer;
  schema: z.ZodType<T>;
}): { readonly value: T } | { readonly problem: string } {
  const { answer, schema } = options;
  const candidates = extractJson(answer.text);
  if (candidates.length === 0) {
    const cut = answer.finishReason === 'length' ? ' It was cut off at the longest length allowed; be shorter.' : '';
    return { problem: `it holds no complete JSON value.${cut}` };
  }
  let problem = '';
  for (const candidate of candidates) {
    const parsed = schema.safeParse(candidate);
    if (parsed.success) return { value: parsed.data };
    problem ||= `the JSON does not fit the schema:\n${z.prettifyError(parsed.error)}`;
  }
  return { problem };
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
export function extractJson(text: string): unknown[] {
  // The reasoning of a model is not its answer, even if it never got to one.
  const answer = text.replace(/^\s*<think>[\s\S]*?(?:<\/think>|$)/, '');
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
