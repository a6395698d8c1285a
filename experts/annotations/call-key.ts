import { sha256 } from '../../src/content-hash.ts';
import type { ChatRequest } from '../llm/chat.ts';
import { maxTokensOf } from '../llm/completion.ts';
import { answerRelevantOptions } from '../llm/endpoint.ts';

/**
 * SHA-256, in hexadecimal, of all that can change a call's answer. Keys, prices, time limits and concurrency of the
 * endpoint cannot; nor can how it is asked for log-probabilities by a call that wants none.
 */
export function callKey(request: ChatRequest): string {
  const { endpoint, messages, sampleIndex = 0, wantLogprobs = false, jsonSchema = null } = request;
  const { logprobs, topLogprobs, ...relevant } = answerRelevantOptions(endpoint);
  const question = {
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
  };
  return sha256(question);
}
