import { sha256 } from '../../src/content-hash.ts';
import { maxTokensOf } from '../llm/answers/request-form.ts';
import type { ChatRequest } from '../llm/chat.ts';
import { answerRelevantOptions } from '../llm/endpoint.ts';

/**
 * SHA-256, in hexadecimal, of everything that can change a call's answer. The endpoint's name, key, prices, time limits
 * and concurrency cannot; nor can its settings for log-probabilities where the call wants none.
 */
export function callKey(request: ChatRequest): string {
  const { endpoint, messages, sampleIndex = 0, wantLogprobs = false, jsonSchema = null } = request;
  const { logprobs, topLogprobs, ...relevant } = answerRelevantOptions(endpoint);
  return sha256({
    endpoint: {
      ...relevant,
      temperature: request.temperature === undefined ? endpoint.temperature : request.temperature,
      maxTokens: maxTokensOf(request),
      ...(wantLogprobs && { logprobs, topLogprobs }),
    },
    messages: messages.map(({ role, content }) => ({ role, content })),
    sampleIndex,
    wantLogprobs,
    jsonSchema,
  });
}
