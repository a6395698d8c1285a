import type { ChatUsage } from './chat.ts';
import type { Endpoint } from './endpoint.ts';

/** In the currency of the endpoint's prices. */
export function costOf(options: { endpoint: Endpoint; usage: Omit<ChatUsage, 'requests'> }): number {
  const { prices } = options.endpoint;
  const { inputTokens, cachedInputTokens, outputTokens } = options.usage;
  const cachedPrice = prices.cachedInputPerMillion ?? prices.inputPerMillion;
  const input = (inputTokens - cachedInputTokens) * prices.inputPerMillion + cachedInputTokens * cachedPrice;
  return (input + outputTokens * prices.outputPerMillion) / 1_000_000;
}
