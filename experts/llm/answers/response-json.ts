import { z } from 'zod';
import { jsonOrUndefined, withoutNaN } from '../../../src/json.ts';

/** Stands for a log-probability of −∞; vLLM writes the same. */
const LEAST = '-9999';

/**
 * Parses a body as Python's json writes it: JSON with non-finite numbers, which are log-probabilities. `-Infinity`
 * becomes a very small number, the others null. Undefined for any other text.
 */
export function pythonJson(body: string): unknown {
  return jsonOrUndefined(body) ?? jsonOrUndefined(withoutNaN(body, LEAST));
}

/*
 * A completion as a stream of server-sent events. The chunks are merged to what the endpoint would have answered
 * without a stream, so that one reader judges both.
 */

const partsSchema = z.record(z.string(), z.unknown());
const choiceSchema = z.looseObject({
  index: z.number().default(0),
  // Some endpoints send the whole message as the only chunk.
  delta: partsSchema.nullish(),
  message: partsSchema.nullish(),
  finish_reason: z.string().nullish(),
  logprobs: partsSchema.nullish().catch(null),
});
const chunkSchema = z.looseObject({ choices: z.array(choiceSchema).default([]) });

/** The completion in a body, streamed or not; undefined if the body is no JSON, or a stream that ended early. */
export function completionJson(body: string): unknown {
  return isStream(body) ? streamedCompletion(body) : pythonJson(body);
}

/** Whether a body is a stream, whatever its content type. */
export function isStream(body: string): boolean {
  return /^\s*(?:data|event|id|retry)?:/.test(body);
}

/** Merges a stream; undefined if it ended early or contains something else. */
function streamedCompletion(body: string): unknown {
  const data = body
    .split(/\r?\n\r?\n/)
    .map((event) => [...event.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line).join('\n'))
    .filter((each) => each.trim() !== '');
  const isDone = data.at(-1)?.trim() === '[DONE]';
  const chunks: z.infer<typeof chunkSchema>[] = [];
  for (const text of isDone ? data.slice(0, -1) : data) {
    const chunk = chunkSchema.safeParse(pythonJson(text)).data;
    if (chunk === undefined) return undefined;
    if (chunk.error !== undefined && chunk.error !== null) return chunk;
    chunks.push(chunk);
  }
  const choices = mergeChoices(chunks.flatMap((chunk) => chunk.choices));
  if (choices.length === 0 || !(isDone || choices.every(({ finish_reason }) => finish_reason !== null)))
    return undefined;
  // The usage comes in a separate chunk, and counts so far may be in others.
  const fields = chunks.flatMap((chunk) => Object.entries(chunk).filter(([, value]) => value !== null));
  return { ...Object.fromEntries(fields), choices };
}

function mergeChoices(pieces: readonly z.infer<typeof choiceSchema>[]) {
  return [...new Set(pieces.map(({ index }) => index))].map((index) => {
    const parts = pieces.filter((piece) => piece.index === index);
    return {
      index,
      message: joinParts(parts.map(({ delta, message }) => delta ?? message)),
      finish_reason: parts.findLast(({ finish_reason }) => finish_reason)?.finish_reason ?? null,
      logprobs: joinParts(parts.map(({ logprobs }) => logprobs)),
    };
  });
}

/** Joins the texts and the lists of each field. */
function joinParts(parts: readonly (Readonly<Record<string, unknown>> | null | undefined)[]): Record<string, unknown> {
  const whole: Record<string, unknown> = {};
  for (const [name, piece] of parts.flatMap((part) => Object.entries(part ?? {}))) {
    const before = whole[name];
    if (typeof before === 'string' && typeof piece === 'string') whole[name] = before + piece;
    else if (Array.isArray(before) && Array.isArray(piece)) before.push(...piece);
    else whole[name] = piece ?? before;
  }
  return whole;
}
