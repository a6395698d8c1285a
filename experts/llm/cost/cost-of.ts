import { maxTokensOf } from '../answers/request-form.ts';
import type { ChatRequest, ChatUsage } from '../chat.ts';
import type { Endpoint } from '../endpoint.ts';
import { estimateMessageTokens, estimateReasoningTokens } from './estimate.ts';
import { pricesOf } from './prices.ts';

/** How requests are charged for. */
export interface Charge {
  /** What the endpoint says that the request cost. It counts where the endpoint has no prices of its own. */
  readonly toldCost?: number | null;
  /** Whether it is asked in a batch. */
  readonly isBatch?: boolean;
}

type Charged = { endpoint: Endpoint; usage: Omit<ChatUsage, 'requests'> } & Charge;

/** The cost of a request, in the currency of the endpoint's prices; 0 where these are not known. */
export function costOf(charged: Charged): number {
  return knownCostOf(charged).cost ?? 0;
}

/** The same as a field, absent where prices are not known. */
export function knownCostOf(options: Charged): Pick<ChatUsage, 'cost'> {
  const { toldCost = null, isBatch = false } = options;
  if (toldCost !== null && options.endpoint.prices === null) return { cost: toldCost };
  const prices = pricesOf(options.endpoint);
  if (prices === null) return {};
  const { inputTokens, cachedInputTokens, outputTokens } = options.usage;
  const cachedPrice = prices.cachedInputPerMillion ?? prices.inputPerMillion;
  const input = (inputTokens - cachedInputTokens) * prices.inputPerMillion + cachedInputTokens * cachedPrice;
  const share = isBatch ? prices.batchShare : 1;
  return { cost: (share * (input + outputTokens * prices.outputPerMillion)) / 1_000_000 };
}

/** The most a request can cost. Without a length limit, output is assumed to be as long as input. */
export function mostOf(request: ChatRequest): { tokens: number; money: number } {
  const inputTokens = estimateMessageTokens(request.messages);
  const outputTokens = maxTokensOf(request) ?? inputTokens + estimateReasoningTokens(request.endpoint);
  const usage = { inputTokens, cachedInputTokens: 0, outputTokens };
  return { tokens: inputTokens + outputTokens, money: costOf({ endpoint: request.endpoint, usage }) };
}
