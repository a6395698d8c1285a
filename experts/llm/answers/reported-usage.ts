import { z } from 'zod';

const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^\s*\d+(?:\.\d+)?\s*$/)
    .transform(Number),
]);
/** No request takes a billion tokens: a larger count is an error of the endpoint and ignored. */
const count = number.pipe(z.number().nonnegative().max(1e9)).transform(Math.ceil).nullish().catch(null);
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count }).nullish().catch(null),
  // DeepSeek's name for cached input tokens.
  prompt_cache_hit_tokens: count,
  // OpenRouter and LiteLLM: the cost of the request in US dollars.
  cost: number.pipe(z.number().nonnegative().max(1e6)).nullish().catch(null),
});
const withUsageSchema = z.object({ usage: usageSchema });

/** The endpoint's counts of a request's tokens; 0 if it reports none. */
export interface ReportedUsage {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  /** The cost of the request; null if the endpoint reports none. */
  readonly cost: number | null;
}

export function reportedUsage(json: unknown): ReportedUsage {
  const usage = withUsageSchema.safeParse(json).data?.usage;
  const inputTokens = usage?.prompt_tokens ?? 0;
  // Google and xAI count the thinking, which costs as much as the answer, in the total only.
  const beside = inputTokens > 0 ? (usage?.total_tokens ?? 0) - inputTokens : 0;
  return {
    inputTokens,
    cachedInputTokens: usage?.prompt_tokens_details?.cached_tokens ?? usage?.prompt_cache_hit_tokens ?? 0,
    outputTokens: Math.max(usage?.completion_tokens ?? 0, beside),
    cost: usage?.cost ?? null,
  };
}
