import { z } from 'zod';
import { jsonOrUndefined } from '../../src/json.ts';
import { estimateMessageTokens, estimateTokens } from './budget.ts';
import type { ChatAnswer, ChatRequest, ChatUsage } from './chat.ts';
import { CallFailure, failureOfStatus } from './failures.ts';

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
    messages,
    ...(temperature !== null && { temperature }),
    ...(endpoint.topP !== null && { top_p: endpoint.topP }),
    ...(endpoint.seed !== null && { seed: endpoint.seed + sampleIndex }),
    ...(maxTokens !== null && { [form.tokensField]: maxTokens }),
    ...(form.logprobs && { logprobs: true, top_logprobs: form.topLogprobs }),
    ...(jsonSchema && responseFormat({ json: form.json, jsonSchema })),
    ...endpoint.extraBody,
  };
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

const count = z.number().nonnegative();
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  prompt_tokens_details: z.object({ cached_tokens: count.nullish() }).nullish(),
});
const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
const choiceSchema = z.object({
  message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
  finish_reason: z.string().nullish(),
  logprobs: z
    .object({ content: z.array(tokenSchema.extend({ top_logprobs: z.array(tokenSchema).nullish() })).nullish() })
    .nullish(),
});
const completionSchema = z.object({ choices: z.array(choiceSchema) });
const withUsageSchema = z.object({ usage: usageSchema });
const errorSchema = z.object({
  error: z.object({ message: z.string(), code: z.union([z.string(), z.number()]).nullish() }),
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
    const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage.data.usage;
    const tokens = {
      inputTokens: prompt_tokens,
      cachedInputTokens: Math.min(prompt_tokens, prompt_tokens_details?.cached_tokens ?? 0),
      outputTokens: completion_tokens ?? 0,
    };
    return { answer, tokens, isEstimated: false };
  }
  const isAnswer = !(answer instanceof CallFailure);
  const tokens = {
    inputTokens: isAnswer ? estimateMessageTokens(request.messages) : 0,
    cachedInputTokens: 0,
    outputTokens: isAnswer ? estimateTokens(answer.text) : 0,
  };
  return { answer, tokens, isEstimated: true };
}

function readAnswer(json: unknown, request: ChatRequest): ReadCompletion['answer'] {
  const parsed = completionSchema.safeParse(json);
  if (!parsed.success) {
    const told = errorSchema.safeParse(json);
    if (!told.success) return malformed(`the response is not a chat completion: ${excerpt(JSON.stringify(json))}`);
    const { message, code } = told.data.error;
    const status = Number(code ?? Number.NaN);
    return status >= 400
      ? failureOfStatus({ status, message, code: null, headers: null })
      : malformed(`the response holds an error: ${message}`);
  }
  const choice = parsed.data.choices[0];
  if (choice === undefined) return malformed('the response holds no choices');
  const { content, refusal } = choice.message;
  const finishReason = choice.finish_reason ?? 'unknown';
  if (!content?.trim()) {
    if (refusal?.trim()) return { text: refusal, logprobs: null, finishReason: 'refusal' };
    if (finishReason === 'length')
      return noAnswer(
        'the answer was cut off before it began (did a reasoning model use up all tokens?); raise maxTokens',
      );
    if (finishReason === 'content_filter')
      return noAnswer("the endpoint's content filter withheld the answer; use an endpoint that accepts such posts");
    return malformed(`the answer is empty (finish reason ${finishReason})`);
  }
  const tokens = choice.logprobs?.content;
  if (!tokens?.length && request.wantLogprobs && request.endpoint.logprobs === 'on')
    return noAnswer('the endpoint sends no log-probabilities, although logprobs is on; set it to auto or off');
  const logprobs = tokens?.length
    ? tokens.map(({ token, logprob, top_logprobs }) => ({ token, logprob, top: top_logprobs ?? [] }))
    : null;
  return { text: content, logprobs, finishReason };
}

function malformed(message: string): CallFailure {
  return new CallFailure({ kind: 'malformed', message });
}

function noAnswer(message: string): CallFailure {
  return new CallFailure({ kind: 'no-answer', message });
}

function excerpt(text: string): string {
  return text.length === 0 ? '(nothing)' : JSON.stringify(text.slice(0, 120));
}
