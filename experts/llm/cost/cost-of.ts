import { maxTokensOf } from '../answers/request-form.ts';
import type { ChatRequest, ChatUsage } from '../chat.ts';
import type { Endpoint } from '../endpoint.ts';
import { estimateMessageTokens, estimateReasoningTokens } from './estimate.ts';
import { pricesOf } from './prices.ts';

export interface Charge {
  /** The cost that the endpoint reports. It counts if the endpoint has no configured prices. */
  readonly reportedCost?: number | null;
  /** Whether the request is part of a batch. */
  readonly isBatch?: boolean;
}

type Charged = { endpoint: Endpoint; usage: Omit<ChatUsage, 'requests'> } & Charge;

/** The cost of a request, in the currency of the endpoint's prices; 0 without known prices. */
export function costOf(charged: Charged): number {
  return costField(charged).cost ?? 0;
}

/** The cost of a request as a field, absent without known prices. */
export function costField(options: Charged): Pick<ChatUsage, 'cost'> {
  const { reportedCost = null, isBatch = false } = options;
  if (reportedCost !== null && options.endpoint.prices === null) return { cost: reportedCost };
  const prices = pricesOf(options.endpoint);
  if (prices === null) return {};
  const { inputTokens, cachedInputTokens, outputTokens } = options.usage;
  const cachedPrice = prices.cachedInputPerMillion ?? prices.inputPerMillion;
  const input = (inputTokens - cachedInputTokens) * prices.inputPerMillion + cachedInputTokens * cachedPrice;
  const share = isBatch ? prices.batchShare : 1;
  return { cost: (share * (input + outputTokens * prices.outputPerMillion)) / 1_000_000 };
}

/** The largest cost of a request. Without a length limit, output is assumed to be as long as input. */
export function mostOf(request: ChatRequest): { tokens: number; money: number } {
  const inputTokens = estimateMessageTokens(request.messages);
  const outputTokens = maxTokensOf(request) ?? inputTokens + estimateReasoningTokens(request.endpoint);
  const usage = { inputTokens, cachedInputTokens: 0, outputTokens };
  return { tokens: inputTokens + outputTokens, money: costOf({ endpoint: request.endpoint, usage }) };
}
