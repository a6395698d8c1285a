import type { ChatRequest } from '../chat.ts';

/** The parts of the protocol that a request uses. Endpoints that refuse a part are asked without it. */
export interface RequestForm {
  readonly logprobs: boolean;
  /** Alternatives per token, if log-probabilities are requested. */
  readonly topLogprobs: number;
  readonly json: 'schema' | 'object' | 'none';
  readonly temperature: boolean;
  readonly seed: boolean;
  /** The name of the length limit. */
  readonly tokensField: 'max_tokens' | 'max_completion_tokens';
  /** Whether the answer is streamed, for endpoints that give no other form. */
  readonly stream: boolean;
}

/** The fullest form that the request and its endpoint's configuration allow. */
export function fullForm(request: ChatRequest): RequestForm {
  return {
    logprobs: request.wantLogprobs === true && request.endpoint.logprobs !== 'off',
    topLogprobs: request.endpoint.topLogprobs,
    json: request.jsonSchema ? 'schema' : 'none',
    temperature: temperatureOf(request) !== null,
    seed: request.endpoint.seed !== null,
    tokensField: request.endpoint.maxTokensField,
    stream: false,
  };
}

/** The form of a batch, where a refusal costs a day: a schema only if plain text is not enough. */
export function batchForm(request: ChatRequest): RequestForm {
  const form = fullForm(request);
  return request.jsonSchema?.isPlainTextEnough ? { ...form, json: 'none' } : form;
}

/** The body of a chat-completions request. `extraBody` takes precedence, because a user wrote it for this endpoint. */
export function completionBody(options: { request: ChatRequest; form: RequestForm }): Record<string, unknown> {
  const { request, form } = options;
  const { endpoint, messages, sampleIndex = 0, jsonSchema } = request;
  const temperature = form.temperature ? temperatureOf(request) : null;
  const maxTokens = maxTokensOf(request);
  return {
    model: endpoint.model,
    // Many servers refuse a request with half an emoji, as in a text that was cut.
    messages: messages.map(({ role, content }) => ({ role, content: wellFormed(content) })),
    ...(temperature !== null && { temperature }),
    ...(endpoint.topP !== null && { top_p: endpoint.topP }),
    ...(form.seed && endpoint.seed !== null && { seed: endpoint.seed + sampleIndex }),
    ...(maxTokens !== null && { [form.tokensField]: maxTokens }),
    ...(endpoint.reasoningEffort !== null && { reasoning_effort: endpoint.reasoningEffort }),
    ...(form.logprobs && { logprobs: true, top_logprobs: form.topLogprobs }),
    ...(jsonSchema && responseFormat({ json: form.json, jsonSchema })),
    ...(form.stream && { stream: true, stream_options: { include_usage: true } }),
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
  const { isPlainTextEnough = false, ...json_schema } = jsonSchema;
  if (json === 'schema') return { response_format: { type: 'json_schema', json_schema } };
  return json === 'none' || isPlainTextEnough ? {} : { response_format: { type: 'json_object' } };
}
