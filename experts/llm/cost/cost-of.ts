import type { ChatUsage } from '../chat.ts';
import type { Endpoint } from '../endpoint.ts';
import { pricesOf } from './prices.ts';

/** The cost of a request, in the currency of the endpoint's prices; 0 where these are not known. */
export function costOf(options: { endpoint: Endpoint; usage: Omit<ChatUsage, 'requests'> }): number {
  const prices = pricesOf(options.endpoint);
  if (prices === null) return 0;
  const { inputTokens, cachedInputTokens, outputTokens } = options.usage;
  const cachedPrice = prices.cachedInputPerMillion ?? prices.inputPerMillion;
  const input = (inputTokens - cachedInputTokens) * prices.inputPerMillion + cachedInputTokens * cachedPrice;
  return (input + outputTokens * prices.outputPerMillion) / 1_000_000;
}
