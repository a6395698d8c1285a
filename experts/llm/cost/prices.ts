import { readFileSync } from 'node:fs';
import { estimateTokenCount } from 'tokenx';
import { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import { parseYaml } from '../../../src/yaml.ts';
import { maxTokensOf } from '../answers/request-form.ts';
import type { ChatMessage, ChatRequest, ChatUsage } from '../chat.ts';
import type { Endpoint } from '../endpoint.ts';

const price = z.number().nonnegative().default(0);

/** Prices of a million tokens. */
export const pricesSchema = z.strictObject({
  inputPerMillion: price,
  cachedInputPerMillion: price.nullable().default(null).describe('null: as much as other input'),
  outputPerMillion: price,
  batchShare: z.number().min(0).max(1).default(0.5).describe('what a batch costs, as a share of these prices'),
});
export type Prices = z.output<typeof pricesSchema>;

const listSchema = z.strictObject({
  date: z
    .string()
    .regex(/^\d{4}-\d{2}(?:-\d{2})?$/, 'must be the day or month that the prices are of, such as 2026-11'),
  models: z.record(z.string(), pricesSchema),
});

export interface PriceList extends z.output<typeof listSchema> {
  /** The list's name in messages, such as "the shipped price list of 2025-08". */
  readonly name: string;
}

const lists = new Map<string, PriceList>();

/**
 * The dated price list of Earshot, or the one that the environment variable EARSHOT_PRICES names instead. The head of
 * the shipped list says why it must be checked.
 * @throws InputError if the variable does not name a price list
 */
export function priceList(): PriceList {
  const path = process.env.EARSHOT_PRICES?.trim() || null;
  const cached = lists.get(path ?? '');
  if (cached !== undefined) return cached;
  const read = path === null ? loadShippedList() : loadCustomList(path);
  lists.set(path ?? '', read);
  return read;
}

function loadShippedList(): PriceList {
  const url = new URL('./prices.yaml', import.meta.url);
  const list = listSchema.parse(parseYaml(readFileSync(url, 'utf8'), 'prices.yaml is'));
  return { ...list, name: `the shipped price list of ${list.date}` };
}

function loadCustomList(path: string): PriceList {
  const remedy = 'give it date and models as in the shipped prices.yaml, or unset EARSHOT_PRICES';
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new InputError(`cannot read the price list ${path} (EARSHOT_PRICES): ${error}; ${remedy}`);
  }
  const parsed = listSchema.safeParse(parseYaml(text, `the price list ${path} is`));
  if (!parsed.success)
    throw new InputError(
      `${path} (EARSHOT_PRICES) is not a price list: ${z.prettifyError(parsed.error).replace(/\s+/g, ' ')}; ${remedy}`,
    );
  return { ...parsed.data, name: `the price list ${path} of ${parsed.data.date}` };
}

/** The prices of an endpoint or else of the price list; null if neither has any. */
export function pricesOf(endpoint: { readonly model: string; readonly prices: Prices | null }): Prices | null {
  const { models } = priceList();
  const listed = [endpoint.model, listedName(endpoint.model)].find((name) => Object.hasOwn(models, name));
  return endpoint.prices ?? (listed === undefined ? null : models[listed]);
}

/** The name without a router's prefix, such as openai/, or a release date, as in the list. */
function listedName(model: string): string {
  return model.replace(/^.*\//, '').replace(/-(?:latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$/, '');
}

/** Tokens that common chat templates add to each message for its role and its delimiters. */
const TOKENS_A_MESSAGE = 4;

/**
 * Estimates tokens without a vocabulary: about six characters per token in long Latin words, one in Chinese, and rules
 * for digits, punctuation and accents. Compared with OpenAI's two latest vocabularies, English prose and Chinese posts
 * are within 30%, tweets full of links and emoji 25% too low, and Arabic as low as a third.
 */
export function estimateTokens(text: string): number {
  return estimateTokenCount(text);
}

/**
 * Thinking tokens before a short answer, by effort. They are rough: models differ by ten times, and providers publish
 * no figures. Budgets learn from the ratio of spending to estimate.
 */
const REASONING_TOKENS = { none: 0, minimal: 50, low: 300, medium: 1000, high: 4000, xhigh: 8000 } as const;

/** 0 without an effort, because a model's name does not tell whether it thinks. */
export function estimateReasoningTokens({ reasoningEffort }: Pick<Endpoint, 'reasoningEffort'>): number {
  return reasoningEffort === null ? 0 : REASONING_TOKENS[reasoningEffort];
}

export function estimateMessageTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content) + TOKENS_A_MESSAGE, 0);
}

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
