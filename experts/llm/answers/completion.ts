import { z } from 'zod';
import { jsonOrUndefined } from '../../../src/json.ts';
import { CallFailure, failureOfStatus } from '../call-failure.ts';
import { type ChatAnswer, type ChatRequest, type ChatUsage, incompletenessOf, type TokenLogprob } from '../chat.ts';
import { estimateMessageTokens, estimateTokens } from '../cost/budget.ts';
import { splitThinking } from './thinking.ts';

/** How much of the protocol a request uses. Endpoints that refuse a part are asked without it. */
export interface RequestForm {
  readonly logprobs: boolean;
  /** Alternatives asked for at each token, where log-probabilities are. */
  readonly topLogprobs: number;
  readonly json: 'schema' | 'object' | 'none';
  readonly temperature: boolean;
  /** What the length limit is called. */
  readonly tokensField: 'max_tokens' | 'max_completion_tokens';
}

/** The most that the request and its endpoint's configuration ask for. */
export function fullForm(request: ChatRequest): RequestForm {
  return {
    logprobs: request.wantLogprobs === true && request.endpoint.logprobs !== 'off',
    topLogprobs: request.endpoint.topLogprobs,
    json: request.jsonSchema ? 'schema' : 'none',
    temperature: temperatureOf(request) !== null,
    tokensField: request.endpoint.maxTokensField,
  };
}

/** The body of a chat-completions request. `extraBody` takes precedence, since somebody wrote it for this endpoint. */
export function completionBody(options: { request: ChatRequest; form: RequestForm }): Record<string, unknown> {
  const { request, form } = options;
  const { endpoint, messages, sampleIndex = 0, jsonSchema } = request;
  const temperature = form.temperature ? temperatureOf(request) : null;
  const maxTokens = maxTokensOf(request);
  return {
    model: endpoint.model,
    // Half an emoji, as in a text that was cut, is refused by many servers, and with it the whole request.
    messages: messages.map(({ role, content }) => ({ role, content: wellFormed(content) })),
    ...(temperature !== null && { temperature }),
    ...(endpoint.topP !== null && { top_p: endpoint.topP }),
    ...(endpoint.seed !== null && { seed: endpoint.seed + sampleIndex }),
    ...(maxTokens !== null && { [form.tokensField]: maxTokens }),
    ...(form.logprobs && { logprobs: true, top_logprobs: form.topLogprobs }),
    ...(jsonSchema && responseFormat({ json: form.json, jsonSchema })),
    ...endpoint.extraBody,
  };
}

const LONE_SURROGATE = /\p{Surrogate}/gu;

function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, '\ufffd');
}

function temperatureOf(request: ChatRequest): number | null {
  return request.temperature === undefined ? request.endpoint.temperature : request.temperature;
}

export function maxTokensOf(request: ChatRequest): number | null {
  return request.maxTokens === undefined ? request.endpoint.maxTokens : request.maxTokens;
}

function responseFormat(options: {
  json: RequestForm['json'];
  jsonSchema: NonNullable<ChatRequest['jsonSchema']>;
}): Record<string, unknown> {
  const { json, jsonSchema } = options;
  if (json === 'none') return {};
  if (json === 'object') return { response_format: { type: 'json_object' } };
  // `strict` is left out: with it, OpenAI refuses every schema that has an optional field, and the answer is checked
  // here anyway.
  return { response_format: { type: 'json_schema', json_schema: jsonSchema } };
}

const count = z.number().nonnegative().transform(Math.ceil);
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  total_tokens: count.nullish().catch(null),
  prompt_tokens_details: z.object({ cached_tokens: count.nullish() }).nullish(),
});
const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
/** Some endpoints send a list of parts, and thinking as a list within one of them. */
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
});
const choiceSchema = z.object({
  message: messageSchema,
  finish_reason: z.string().nullish(),
  // Some have a form of their own, or numbers that JSON cannot write. The answer is as good without them.
  logprobs: z
    .object({ content: z.array(tokenSchema.extend({ top_logprobs: z.array(tokenSchema).nullish() })).nullish() })
    .nullish()
    .catch(null),
  /** OpenRouter tells here what the provider behind it failed with. */
  error: z.unknown().optional(),
});
const completionSchema = z.object({ choices: z.array(choiceSchema) });
const withUsageSchema = z.object({ usage: usageSchema });
const errorSchema = z.object({
  error: z.union([
    z.object({ message: z.string(), code: z.union([z.string(), z.number()]).nullish() }),
    z.string().transform((message) => ({ message, code: null })),
  ]),
});

export interface ReadCompletion {
  readonly answer: Omit<ChatAnswer, 'usage' | 'latencyMs'> | CallFailure;
  readonly tokens: Omit<ChatUsage, 'requests'>;
  /** The tokens are an estimate because the endpoint did not count them. */
  readonly isEstimated: boolean;
}

/** Reads the body of a response with status 200. It may hold no answer and still cost tokens. */
export function readCompletion(options: { body: string; request: ChatRequest }): ReadCompletion {
  const { body, request } = options;
  const json = jsonOrUndefined(body);
  const answer =
    json === undefined ? malformed(`the response is not JSON: ${excerpt(body)}`) : readAnswer(json, request);
  const usage = withUsageSchema.safeParse(json);
  if (usage.success) {
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage.data.usage;
    const tokens = {
      inputTokens: prompt_tokens,
      cachedInputTokens: Math.min(prompt_tokens, prompt_tokens_details?.cached_tokens ?? 0),
      // Google and xAI count the thinking, which costs as much as the answer, in the total only.
      outputTokens: Math.max(completion_tokens ?? 0, (total_tokens ?? 0) - prompt_tokens),
    };
    return { answer, tokens, isEstimated: false };
  }
  const isAnswer = !(answer instanceof CallFailure);
  const tokens = {
    inputTokens: isAnswer ? estimateMessageTokens(request.messages) : 0,
    cachedInputTokens: 0,
    outputTokens: isAnswer ? estimateTokens(`${answer.thinking ?? ''}${answer.text}`) : 0,
  };
  return { answer, tokens, isEstimated: true };
}

function readAnswer(json: unknown, request: ChatRequest): ReadCompletion['answer'] {
  const parsed = completionSchema.safeParse(json);
  const choice = parsed.data?.choices[0];
  if (choice === undefined)
    return (
      toldFailure(json) ??
      malformed(
        parsed.success
          ? 'the response holds no choices'
          : `the response is not a chat completion: ${excerpt(JSON.stringify(json))}`,
      )
    );
  const finishReason = choice.finish_reason ?? 'unknown';
  const { text, thinking, mark, refusal } = readMessage(choice.message);
  if (refusal !== null) return { text: refusal, ...thoughtOf(thinking), logprobs: null, finishReason: 'refusal' };
  if (text.trim() === '') {
    const incompleteness = incompletenessOf({ finishReason });
    if (incompleteness === 'cut-off')
      return noAnswer(
        'the answer was cut off before it began (did a reasoning model use up all tokens?); raise maxTokens',
      );
    if (incompleteness === 'filtered')
      return filtered("the endpoint's content filter withheld the answer; use an endpoint that accepts such posts");
    if (thinking === null)
      return toldFailure(choice) ?? malformed(`the answer is empty (finish reason ${finishReason})`);
  }
  const tokens = choice.logprobs?.content;
  if (!tokens?.length && request.wantLogprobs && request.endpoint.logprobs === 'on')
    return noAnswer('the endpoint sends no log-probabilities, although logprobs is on; set it to auto or off');
  const logprobs = tokens?.length
    ? tokens.map(({ token, logprob, top_logprobs }) => ({ token, logprob, top: top_logprobs ?? [] }))
    : null;
  return {
    text,
    ...thoughtOf(thinking),
    logprobs: logprobs && tokensOf({ text, thinking, mark }, logprobs),
    finishReason,
  };
}

/** The failure that stands in a response, or in one of its choices, although its status is 200. */
function toldFailure(value: unknown): CallFailure | null {
  const told = errorSchema.safeParse(value);
  if (!told.success) return null;
  const { message, code } = told.data.error;
  const status = Number(code ?? Number.NaN);
  return status >= 400
    ? failureOfStatus({ status, message, code: null, headers: null })
    : malformed(`the response holds an error: ${message}`);
}

interface ReadMessage {
  readonly text: string;
  readonly thinking: string | null;
  readonly mark: string | null;
  /** What the model said instead of an answer, where the endpoint marks it as a refusal. */
  readonly refusal: string | null;
}

function readMessage(message: z.infer<typeof messageSchema>): ReadMessage {
  const { content, reasoning_content, reasoning } = message;
  const parts = Array.isArray(content)
    ? content.map((part) => (typeof part === 'string' ? { type: 'text', text: part, refusal: null } : part))
    : [{ type: 'text', text: content, refusal: null }];
  const isText = ({ type }: { type: string }) => type === 'text' || type === 'output_text';
  const joined = (texts: readonly (string | null | undefined)[]) => texts.filter(Boolean).join('');
  const { answer, thinking, mark } = splitThinking(joined(parts.filter(isText).map(({ text }) => text)));
  const apart = parts.filter((part) => !isText(part)).map((part) => part.text ?? jsonOf(part));
  return {
    text: answer,
    thinking: [reasoning_content ?? reasoning, ...apart, thinking].filter((each) => each?.trim()).join('\n') || null,
    mark,
    refusal: joined([message.refusal, ...parts.map((part) => part.refusal)]).trim() || null,
  };
}

function jsonOf({ thinking }: { readonly thinking?: unknown }): string | null {
  if (thinking === undefined) return null;
  return typeof thinking === 'string' ? thinking : JSON.stringify(thinking);
}

function thoughtOf(thinking: string | null): Pick<ChatAnswer, 'thinking'> {
  return thinking === null ? {} : { thinking };
}

/** The tokens of the answer alone; null where they cannot be told from those of the thinking. */
function tokensOf(
  { text, thinking, mark }: Pick<ReadMessage, 'text' | 'thinking' | 'mark'>,
  logprobs: readonly TokenLogprob[],
): readonly TokenLogprob[] | null {
  if (thinking === null) return logprobs;
  const joined = logprobs.map(({ token }) => token).join('');
  // Some servers send the vocabulary's own symbols for a space. Where the thinking came apart, its tokens may come too.
  if (mark === null)
    return joined.replace(/^[\s\u2581\u0120]+/u, '').startsWith(text.trim().slice(0, 3)) ? logprobs : null;
  const found = joined.lastIndexOf(mark);
  let end = 0;
  const first = logprobs.findIndex(({ token }) => {
    end += token.length;
    return end > found + mark.length;
  });
  return found < 0 || first < 0 ? null : logprobs.slice(first);
}

function malformed(message: string): CallFailure {
  return new CallFailure({ kind: 'malformed', message });
}

function noAnswer(message: string): CallFailure {
  return new CallFailure({ kind: 'no-answer', message });
}

function filtered(message: string): CallFailure {
  return new CallFailure({ kind: 'filtered', message });
}

function excerpt(text: string): string {
  return text.length === 0 ? '(nothing)' : JSON.stringify(text.slice(0, 120));
}
