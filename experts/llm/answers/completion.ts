import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { CallFailure, type CallFailureKind, failureOfStatus } from '../call-failure.ts';
import {
  type ChatAnswer,
  type ChatRequest,
  type ChatUsage,
  incompletenessOf,
  type TokenLogprob,
  tokenSchema,
} from '../chat.ts';
import { estimateMessageTokens, estimateTokens } from '../cost/cost-of.ts';
import { maxTokensOf } from './request-form.ts';
import { completionJson, isStream } from './response-json.ts';
import { splitThinking, withoutEndTokens } from './thinking.ts';

/** A token may be a part of a character, which only its bytes show. */
const chosenTokenSchema = tokenSchema.extend({
  bytes: z.array(z.number()).nullish().catch(null),
  top_logprobs: z.array(tokenSchema).nullish(),
});
/** Some endpoints send a list of parts, and thinking as a list inside one of them. */
const partSchema = z.looseObject({
  type: z.string().default('text'),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  thinking: z.unknown().optional(),
});
const messageSchema = z.object({
  content: z.union([z.string(), z.array(z.union([z.string(), partSchema]))]).nullish(),
  refusal: z.string().nullish(),
  // vLLM, DeepSeek and others send the thinking apart; the field has two names.
  reasoning_content: z.string().nullish().catch(null),
  reasoning: z.string().nullish().catch(null),
  tool_calls: z.array(z.unknown()).nullish(),
  function_call: z.unknown().optional(),
  error: z.unknown().optional(),
});
const choiceSchema = z.object({
  index: z.number().nullish(),
  message: messageSchema,
  finish_reason: z.string().nullish(),
  // Some endpoints have another form, or numbers that JSON cannot write. The answer is valid without them.
  logprobs: z
    .object({ content: z.array(chosenTokenSchema).nullish() })
    .nullish()
    .catch(null),
  /** The error of the provider behind OpenRouter. */
  error: z.unknown().optional(),
});
const completionSchema = z.object({ choices: z.array(choiceSchema) });
const sourceSchema = z.object({
  model: z.string().nullish().catch(null),
  system_fingerprint: z.string().nullish().catch(null),
});
const countable = z.union([
  z.number(),
  z
    .string()
    .regex(/^\s*\d+(?:\.\d+)?\s*$/)
    .transform(Number),
]);
/** No request takes a billion tokens: a larger count is an error of the endpoint and ignored. */
const count = countable.pipe(z.number().nonnegative().max(1e9)).transform(Math.ceil).nullish().catch(null);
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count }).nullish().catch(null),
  // DeepSeek's name for cached input tokens.
  prompt_cache_hit_tokens: count,
  // OpenRouter and LiteLLM: the cost of the request in US dollars.
  cost: countable.pipe(z.number().nonnegative().max(1e6)).nullish().catch(null),
});
const withUsageSchema = z.object({ usage: usageSchema });
const errorSchema = z.union([
  z.object({ message: z.string(), code: z.union([z.string(), z.number()]).nullish() }),
  z.string().transform((message) => ({ message, code: null })),
]);

export interface ReadCompletion {
  readonly answer: Omit<ChatAnswer, 'usage' | 'latencyMs'> | CallFailure;
  readonly tokens: Omit<ChatUsage, 'requests'>;
  /** Whether the tokens are an estimate because the endpoint did not count them. */
  readonly isEstimated: boolean;
  /** The endpoint's price of the request; null if it reports none. */
  readonly reportedCost: number | null;
}

/** Reads the body of a response with status 200. It may contain no answer and still cost tokens. */
export function readCompletion({ body, request }: { body: string; request: ChatRequest }): ReadCompletion {
  const json = completionJson(body);
  const needsLogprobs = request.wantLogprobs === true && request.endpoint.logprobs === 'on';
  const answer = json === undefined ? notJson(body) : readAnswer(json, { needsLogprobs });
  const counted = tokensIn({ json, body, answer, request });
  if (answer instanceof CallFailure) return { answer, ...counted };
  const { model = null, system_fingerprint: fingerprint = null } = sourceSchema.parse(json);
  return { answer: { ...answer, response: { body, model, fingerprint } }, ...counted };
}

/**
 * The endpoint's token counts. Missing or zero counts are estimated, because no answer is free. Only a request that was
 * refused with an error code is.
 */
function tokensIn(options: {
  json: unknown;
  body: string;
  answer: ReadCompletion['answer'];
  request: ChatRequest;
}): Pick<ReadCompletion, 'tokens' | 'isEstimated' | 'reportedCost'> {
  const { json, body, answer, request } = options;
  const { inputTokens: inputReported, outputTokens: outputReported, ...rest } = reportedUsage(json);
  const isFailure = answer instanceof CallFailure;
  const isFree = isFailure && answer.status !== null;
  const answerText = isFailure ? body : `${answer.thinking ?? ''}${answer.text}`;
  const inputTokens = inputReported || (isFree ? 0 : estimateMessageTokens(request.messages));
  const saidTokens =
    isFree || (isFailure && outputReported === 0 && inputReported > 0) ? 0 : estimateTokens(answerText);
  const outputTokens = outputReported || Math.min(saidTokens, maxTokensOf(request) ?? saidTokens);
  const cachedInputTokens = Math.min(inputTokens, rest.cachedInputTokens);
  return {
    tokens: { inputTokens, cachedInputTokens, outputTokens },
    isEstimated: inputTokens > inputReported || outputTokens > outputReported,
    reportedCost: rest.cost,
  };
}

/** The endpoint's counts of a request's tokens, 0 if it reports none, and its price; null if it reports none. */
export function reportedUsage(json: unknown) {
  const usage = withUsageSchema.safeParse(json).data?.usage;
  const inputTokens = usage?.prompt_tokens ?? 0;
  // Google and xAI count the thinking, which costs as much as the answer, in the total only.
  const beside = inputTokens > 0 ? (usage?.total_tokens ?? 0) - inputTokens : 0;
  return {
    inputTokens,
    cachedInputTokens: usage?.prompt_tokens_details?.cached_tokens ?? usage?.prompt_cache_hit_tokens ?? 0,
    outputTokens: Math.max(usage?.completion_tokens ?? 0, beside),
    cost: usage?.cost ?? null,
  };
}

function notJson(body: string): CallFailure {
  return failureOf(
    'malformed',
    isStream(body)
      ? `the stream (server-sent events) ended before the answer did: ${excerpt(body.trim().slice(-120))}`
      : `the response is not JSON: ${excerpt(body)}`,
  );
}

function readAnswer(json: unknown, { needsLogprobs }: { needsLogprobs: boolean }): ReadCompletion['answer'] {
  const parsed = completionSchema.safeParse(json);
  if (!parsed.success)
    return reportedFailure(json) ?? failureOf('no-completion', `the response is not a chat completion: ${start(json)}`);
  const { choices } = parsed.data;
  // Two equal choices are one.
  const [choice, second] = choices
    .filter(({ index }, place) => (index ?? place) === 0)
    .filter((each, place, all) => place === 0 || !isDeepStrictEqual(each, all[0]));
  const statedFailure = [json, choice, choice?.message].map(reportedFailure).find((failure) => failure !== null);
  if (statedFailure) return statedFailure;
  if (choice === undefined || second !== undefined)
    return choices.length === 0
      ? failureOf('no-completion', `the response holds no choices: ${start(json)}`)
      : failureOf(
          'malformed',
          `of the ${choices.length} choices of the response ${second === undefined ? 'none has' : 'several have'} index 0`,
        );
  const { text, thinking, refusal } = readMessage(choice.message);
  const base = { ...(thinking !== null && { thinking }), logprobs: null };
  if (refusal !== null) return { ...base, text: refusal, finishReason: 'refusal' };
  const { tool_calls, function_call } = choice.message;
  if (tool_calls?.length || function_call) return { ...base, text, finishReason: 'tool_calls' };
  const finishReason = choice.finish_reason ?? 'none';
  if (text.trim() === '') {
    const incompleteness = incompletenessOf(finishReason);
    if (incompleteness === 'cut-off')
      return failureOf(
        'no-answer',
        'the answer was cut off before it began (did a reasoning model use up all tokens?); raise maxTokens',
      );
    if (incompleteness === 'filtered')
      return failureOf(
        'filtered',
        "the endpoint's content filter withheld the answer; use an endpoint that accepts such posts",
      );
    if (thinking === null) return failureOf('empty', `the answer is empty (finish reason ${finishReason})`);
  }
  const tokens = choice.logprobs?.content;
  if (!tokens?.length && needsLogprobs)
    return failureOf(
      'no-answer',
      'the endpoint sends no log-probabilities, although logprobs is on; set it to auto or off',
    );
  return { ...base, text, logprobs: tokens?.length ? tokensOf({ text, thinking }, tokens) : null, finishReason };
}

/** The failure inside a response with status 200, in its choice or its message. */
function reportedFailure(holder: unknown): CallFailure | null {
  const error = z.object({ error: z.unknown() }).safeParse(holder).data?.error ?? null;
  if (error === null) return null;
  const parsed = errorSchema.safeParse(error);
  if (!parsed.success) return failureOf('server', `the response holds an error: ${excerpt(JSON.stringify(error))}`);
  const { message, code } = parsed.data;
  const status = Number(code ?? Number.NaN);
  return status >= 400
    ? failureOfStatus({ status, message, code: null, headers: null })
    : failureOf('server', `the response holds an error: ${message}`);
}

interface ReadMessage {
  readonly text: string;
  readonly thinking: string | null;
  /** The model's text instead of an answer, if the endpoint marks it as a refusal. */
  readonly refusal: string | null;
}

function readMessage(message: z.infer<typeof messageSchema>): ReadMessage {
  const { content, reasoning_content, reasoning } = message;
  const parts = Array.isArray(content)
    ? content.map((part) =>
        typeof part === 'string' ? { type: 'text', text: part, refusal: null } : separateThought(part),
      )
    : [{ type: 'text', text: content, refusal: null }];
  const isText = ({ type }: { type: string }) => type === 'text' || type === 'output_text';
  const joined = (texts: readonly (string | null | undefined)[]) => texts.filter(Boolean).join('');
  const { answer, thinking } = splitThinking(joined(parts.filter(isText).map(({ text }) => text)));
  const apart = parts.filter((part) => !isText(part)).map((part) => part.text ?? jsonOf(part));
  return {
    text: answer,
    thinking: [reasoning_content ?? reasoning, ...apart, thinking].filter((each) => each?.trim()).join('\n') || null,
    refusal: joined([message.refusal, ...parts.map((part) => part.refusal)]).trim() || null,
  };
}

const SAYS_THOUGHT = /thought|thinking|reasoning/i;

/** Moves a part that the endpoint marks as a thought, such as `{"type": "text", "thought": true}`, out of the text. */
function separateThought(part: z.infer<typeof partSchema>): z.infer<typeof partSchema> {
  const isThought = Object.entries(part).some(([key, value]) => value === true && SAYS_THOUGHT.test(key));
  return isThought ? { ...part, type: 'thought' } : part;
}

function jsonOf({ thinking }: { readonly thinking?: unknown }): string | null {
  if (thinking === undefined) return null;
  return typeof thinking === 'string' ? thinking : JSON.stringify(thinking);
}

/** The answer's tokens, which follow nothing but the thinking; null if they spell another text. */
function tokensOf(
  { text, thinking }: Pick<ReadMessage, 'text' | 'thinking'>,
  sent: readonly z.infer<typeof chosenTokenSchema>[],
): TokenLogprob[] {
  const answer = text.trim();
  for (const spelling of [decodeTokens(sent), sent.map(({ token }) => withPlainSpaces(token))]) {
    const whole = withoutEndTokens(spelling.join('')).trimEnd();
    const before = whole.slice(0, whole.length - answer.length);
    const isThinking = before.trim() === '' || (thinking !== null && before.includes(thinking.trim()));
    if (!whole.endsWith(answer) || !isThinking) continue;
    let end = 0;
    const first = spelling.findIndex((token) => {
      end += token.length;
      return end > before.length;
    });
    if (first < 0 || before.slice(end - spelling[first].length).trim() !== '') continue;
    return sent.slice(first).map(({ logprob, top_logprobs }, index) => {
      return { token: spelling[first + index], logprob, top: top_logprobs ?? [] };
    });
  }
  return [];
}

/** Decodes the tokens. An emoji that is cut in two belongs to the second token. */
function decodeTokens(sent: readonly z.infer<typeof chosenTokenSchema>[]): string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  if (!sent.every(({ bytes }) => bytes)) return sent.map(({ token }) => token);
  return sent.map(({ bytes }) => decoder.decode(Uint8Array.from(bytes ?? []), { stream: true }));
}

/** Replaces a vocabulary's symbols for spaces and line ends, which some servers send. */
function withPlainSpaces(token: string): string {
  return token.replace(/[\u2581\u0120]/g, ' ').replaceAll('\u010a', '\n');
}

function failureOf(kind: CallFailureKind, message: string): CallFailure {
  return new CallFailure({ kind, message });
}

function start(json: unknown): string {
  return JSON.stringify(json).slice(0, 300);
}

function excerpt(text: string): string {
  return text.length === 0 ? '(nothing)' : JSON.stringify(text.slice(0, 120));
}
