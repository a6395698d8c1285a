import type { Judgement } from '../../experts/detector.ts';
import type { DetectorConfig } from '../../experts/detectors/create-detector.ts';
import { costOf } from '../../experts/llm/budget.ts';
import { type Endpoint, endpointSchema } from '../../experts/llm/endpoint.ts';
import { isPlainObject } from '../config/overrides.ts';

/**
 * What tokens cost, if all models of a detector have the same prices; null if not, since a judgement does not tell which
 * model used its tokens. Cached input is counted at the full price.
 */
export function singlePrice(config: DetectorConfig): ((usage: Judgement['usage']) => number) | null {
  const endpoints = endpointsWithin(config);
  const [first] = endpoints;
  if (first === undefined || endpoints.some(({ prices }) => JSON.stringify(prices) !== JSON.stringify(first.prices)))
    return null;
  return (usage) => costOf({ endpoint: first, usage: { ...usage, cachedInputTokens: 0 } });
}

/** Endpoints stand by name under `endpoints`, and themselves in the place of a name. */
function endpointsWithin(value: unknown): Endpoint[] {
  if (Array.isArray(value)) return value.flatMap(endpointsWithin);
  if (!isPlainObject(value)) return [];
  const parsed = endpointSchema.partial({ name: true }).safeParse(value);
  if (parsed.success) return [{ ...parsed.data, name: parsed.data.name ?? '' }];
  return Object.values(value).flatMap(endpointsWithin);
}
