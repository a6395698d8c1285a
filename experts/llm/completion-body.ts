import type { ChatRequest } from './chat.ts';

/** How much of the protocol a request uses; endpoints that refuse something get less of it. */
export interface RequestForm {
  readonly logprobs: boolean;
  readonly json: 'schema' | 'object' | 'none';
}

/** The most that the request and its endpoint's configuration ask for. */
export function fullForm(request: ChatRequest): RequestForm {
  return {
    logprobs: request.wantLogprobs === true && request.endpoint.logprobs !== 'off',
    json: request.jsonSchema ? 'schema' : 'none',
  };
}

/** The body of a chat-completions request. `extraBody` wins, since a person wrote it for this endpoint. */
export function completionBody(options: { request: ChatRequest; form: RequestForm }): Record<string, unknown> {
  const { request, form } = options;
  const { endpoint, messages, sampleIndex = 0, jsonSchema } = request;
  const temperature = request.temperature === undefined ? endpoint.temperature : request.temperature;
  const maxTokens = maxTokensOf(request);
  return {
    model: endpoint.model,
    messages,
    ...(temperature !== null && { temperature }),
    ...(endpoint.topP !== null && { top_p: endpoint.topP }),
    ...(endpoint.seed !== null && { seed: endpoint.seed + sampleIndex }),
    ...(maxTokens !== null && { [endpoint.maxTokensField]: maxTokens }),
    ...(form.logprobs && { logprobs: true, top_logprobs: endpoint.topLogprobs }),
    ...(jsonSchema && responseFormat({ json: form.json, jsonSchema })),
    ...endpoint.extraBody,
  };
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
  // `strict` is left out: OpenAI then refuses every schema with an optional field, and the answer is checked here anyway.
  return { response_format: { type: 'json_schema', json_schema: jsonSchema } };
}
