import { maxTokensOf } from '../answers/request-form.ts';
import type { ChatRequest } from '../chat.ts';
import { costOf } from './cost-of.ts';
import { estimateMessageTokens, estimateReasoningTokens } from './estimate.ts';

/** The most a request can cost. Without a length limit, output is assumed to be as long as input. */
export function mostOf(request: ChatRequest): { tokens: number; money: number } {
  const inputTokens = estimateMessageTokens(request.messages);
  const outputTokens = maxTokensOf(request) ?? inputTokens + estimateReasoningTokens(request.endpoint);
  const usage = { inputTokens, cachedInputTokens: 0, outputTokens };
  return { tokens: inputTokens + outputTokens, money: costOf({ endpoint: request.endpoint, usage }) };
}
