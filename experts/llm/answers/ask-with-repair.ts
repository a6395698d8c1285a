import type { z } from 'zod';
import { type ChatAnswer, type ChatMessage, type ChatRequest, type ChatService, whyIncomplete } from '../chat.ts';
import { CannotAskError, MalformedAnswerError } from '../failures.ts';
import { type ReadAnswer, readWholeJson, toJsonSchema } from './whole-json.ts';

export interface RepairableQuestion<T> {
  readonly service: ChatService;
  readonly request: ChatRequest;
  /** The first answer, if it is there already. */
  readonly first?: ChatAnswer;
  /** Reads a complete answer. An answer that was cut off or refused is never read. */
  readonly read: (answer: ChatAnswer) => ReadAnswer<T>;
  /** The second question, in the same conversation. */
  readonly again: (problem: string) => { readonly content: string } & Pick<ChatRequest, 'jsonSchema'>;
  /** The expected answer in messages, such as "the JSON asked for (verdict)". */
  readonly expected: string;
}

/**
 * Asks, and once more in the same conversation if the answer cannot be read. The last of the returned answers was read.
 * @throws MalformedAnswerError with both answers if the second cannot be read either
 */
export async function askWithRepair<T>(
  question: RepairableQuestion<T>,
): Promise<{ readonly value: T; readonly answers: readonly ChatAnswer[] }> {
  const { service, request, again } = question;
  const first = question.first ?? (await service.chat({ ...request, mayBeRepaired: true }));
  const reading = readWhole(question, first);
  if ('value' in reading) return { value: reading.value, answers: [first] };
  const { content, ...form } = again(reading.problem);
  const messages: ChatMessage[] = [
    ...request.messages,
    // Some endpoints refuse empty messages.
    { role: 'assistant', content: first.text || '(nothing)' },
    { role: 'user', content },
  ];
  const second = await askAgain(service, { ...request, ...form, messages });
  if (second === null) throw unreadable(question, { answers: [first], problem: reading.problem });
  const rereading = readWhole(question, second);
  if ('value' in rereading) return { value: rereading.value, answers: [first, second] };
  throw unreadable(question, { answers: [first, second], problem: rereading.problem });
}

function readWhole<T>({ read }: RepairableQuestion<T>, answer: ChatAnswer): ReadAnswer<T> {
  const incomplete = whyIncomplete(answer);
  return incomplete === null ? read(answer) : { problem: `${incomplete}.` };
}

async function askAgain(service: ChatService, request: ChatRequest): Promise<ChatAnswer | null> {
  try {
    return await service.chat(request);
  } catch (error) {
    if (error instanceof CannotAskError) return null;
    throw error;
  }
}

function unreadable<T>(
  { request, expected }: RepairableQuestion<T>,
  { answers, problem }: { answers: readonly ChatAnswer[]; problem: string },
): MalformedAnswerError {
  const { name, model } = request.endpoint;
  const text = answers.at(-1)?.text ?? '';
  // A problem with JSON has a line for each field, for the model.
  const reason = problem
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replace(/[^.]$/, '$&.');
  return new MalformedAnswerError(
    `endpoint ${name} (model ${model}) answered ${answers.length === 1 ? '' : 'twice '}with something other than ${expected}: ` +
      `${reason} The answer began: ${JSON.stringify(text.slice(0, 200))}. ` +
      'A larger model or a larger maxTokens may help',
    { answers },
  );
}

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

/**
 * Asks for JSON and reads it. An answer that is cut off, refused or does not fit the schema is sent back once, with the
 * problem.
 * @throws MalformedAnswerError if the second answer does not fit either
 */
export function chatJson<T>(options: ChatJsonRequest<T>): ReturnType<typeof askWithRepair<T>> {
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
    },
    read: ({ text }) => readWholeJson(text, schema),
    again: (problem) => ({
      content: `Your answer could not be used: ${problem}\nAnswer again with the corrected JSON only.`,
    }),
    expected: `the JSON asked for (${schemaName})`,
  });
}
