import type { z } from 'zod';
import type { ChatAnswer, ChatRequest, ChatService } from '../chat.ts';
import { askWithRepair } from './ask-with-repair.ts';
import { jsonReaderVersion, readWholeJson, toJsonSchema } from './whole-json.ts';

export interface ChatJsonRequest<T> extends Omit<ChatRequest, 'dryRunText' | 'shortestDryRunText' | 'jsonSchema'> {
  readonly service: ChatService;
  /** The schema of the answer. The model sees its descriptions. */
  readonly schema: z.ZodType<T>;
  /** A short name for the schema, which some endpoints require. */
  readonly schemaName: string;
  /** The answer that a dry run pretends to receive; it is validated like any other. */
  readonly dryRunValue: unknown;
  /** The pretended answer of a dry run with the fewest calls. */
  readonly shortestDryRunValue?: unknown;
}

export interface ChatJsonAnswer<T> {
  readonly value: T;
  /** The last answer was used. An earlier one needed a repair. */
  readonly answers: readonly ChatAnswer[];
}

/**
 * Asks for JSON and reads it. An answer that is cut off, refused or does not fit the schema is sent back once, with the
 * problem.
 * @throws MalformedAnswerError if the second answer does not fit either
 */
export async function chatJson<T>(options: ChatJsonRequest<T>): Promise<ChatJsonAnswer<T>> {
  const { service, schema, schemaName, dryRunValue, shortestDryRunValue = dryRunValue, messages, ...call } = options;
  const jsonSchema = toJsonSchema(schema);
  const last = messages[messages.length - 1];
  const instruction = `Answer with JSON only, matching this JSON Schema:\n${JSON.stringify(jsonSchema)}`;
  // The message repeats the schema: some endpoints support no schemas, and json_object modes need the word JSON.
  const withInstruction =
    last?.role === 'user'
      ? [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${instruction}` }]
      : [...messages, { role: 'user' as const, content: instruction }];
  return askWithRepair({
    service,
    request: {
      ...call,
      messages: withInstruction,
      dryRunText: JSON.stringify(dryRunValue),
      shortestDryRunText: JSON.stringify(shortestDryRunValue),
      jsonSchema: { name: schemaName, schema: jsonSchema },
      reader: { name: 'json', version: jsonReaderVersion, schema: jsonSchema },
    },
    read: ({ text }) => readWholeJson(text, schema),
    again: (problem) => ({
      content: `Your answer could not be used: ${problem}\nAnswer again with the corrected JSON only.`,
    }),
    expected: `the JSON asked for (${schemaName})`,
  });
}
