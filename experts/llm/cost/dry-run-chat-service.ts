import { z } from 'zod';
import { jsonOrUndefined } from '../../../src/json.ts';
import { maxTokensOf } from '../answers/request-form.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../chat.ts';
import { costOf, estimateMessageTokens, estimateReasoningTokens, estimateTokens } from './cost-of.ts';
import { priceList, pricesOf } from './prices.ts';

/** Calls and their tokens and cost, if answers are as long as the pretended ones. */
interface Amount {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
}

/** An amount, and its output and cost if every answer is as long as allowed. */
interface BoundedAmount extends Amount {
  readonly outputTokensAtMost: number;
  readonly costAtMost: number;
}

export interface DryRunEstimate extends BoundedAmount {
  readonly endpoint: string;
  readonly model: string;
  /** The additional amount if every answer is unreadable and sent back once; no other number includes it. */
  readonly repairs: BoundedAmount;
  /** The amount if the models agree as soon as possible. */
  readonly atLeast: Amount;
  /** The source of the prices; null without prices, so that costs are 0. */
  readonly prices: 'endpoint' | 'list' | null;
}

/**
 * Sends nothing. It answers each request with the text that the caller expects, and counts its cost. `upper` gives the
 * answers that lead to the most calls, `lower` those that lead to the fewest.
 */
export class DryRunChatService implements ChatService {
  readonly bound: 'lower' | 'upper';
  /** Whether another answer would have ended a conversation earlier. If not, both bounds are equal. */
  hasShorter = false;
  private readonly estimates = new Map<string, Omit<DryRunEstimate, 'atLeast'>>();

  private readonly isBatch: boolean;

  constructor({ bound = 'upper', isBatch = false }: { bound?: 'lower' | 'upper'; isBatch?: boolean } = {}) {
    this.bound = bound;
    this.isBatch = isBatch;
  }

  chat(request: ChatRequest): Promise<ChatAnswer> {
    const { endpoint, dryRunText, shortestDryRunText = dryRunText } = request;
    const json = asJson(dryRunText, request);
    this.hasShorter ||= shortestDryRunText !== json;
    const text = this.bound === 'upper' ? dryRunText : shortestDryRunText;
    const inputTokens = estimateMessageTokens(request.messages);
    const longest = maxTokensOf(request) ?? Number.POSITIVE_INFINITY;
    const plainTokens = estimateTokens(text);
    const jsonTokens = this.bound === 'upper' ? estimateTokens(json) : plainTokens;
    const textTokens = Math.max(plainTokens, Math.min(longest, jsonTokens));
    const outputTokens = Math.max(textTokens, Math.min(longest, textTokens + estimateReasoningTokens(endpoint)));
    const atMost = Math.max(outputTokens, maxTokensOf(request) ?? outputTokens);
    /** @param inputFor the input tokens, by the tokens of the answer */
    const amountOf = (inputFor: (answerTokens: number) => number): BoundedAmount => {
      const costWith = (tokens: number) => {
        const usage = { inputTokens: inputFor(tokens), cachedInputTokens: 0, outputTokens: tokens };
        return costOf({ endpoint, isBatch: this.isBatch, usage });
      };
      const costs = { cost: costWith(outputTokens), costAtMost: costWith(atMost) };
      return { calls: 1, inputTokens: inputFor(outputTokens), outputTokens, outputTokensAtMost: atMost, ...costs };
    };
    const { name, model } = endpoint;
    const key = JSON.stringify([name, model]);
    const prices = endpoint.prices !== null ? 'endpoint' : pricesOf(endpoint) === null ? null : 'list';
    const before = this.estimates.get(key) ?? { endpoint: name, model, prices, ...nothing, repairs: nothing };
    // A repair sends the answer back with its problem.
    const repair = amountOf((answerTokens) => inputTokens + answerTokens + REPAIR_TOKENS);
    const repairs = request.mayBeRepaired ? added(before.repairs, repair) : before.repairs;
    this.estimates.set(key, {
      ...before,
      ...added(
        before,
        amountOf(() => inputTokens),
      ),
      repairs,
    });
    return Promise.resolve({
      text,
      logprobs: null,
      usage: { requests: 1, inputTokens, cachedInputTokens: 0, outputTokens },
      latencyMs: 0,
      finishReason: 'stop',
    });
  }

  /** The amounts per endpoint. `lower` is the same work with the fewest calls; this service by default. */
  rows(lower: DryRunChatService = this): DryRunEstimate[] {
    return [...this.estimates].map(([key, estimate]) => {
      const { calls, inputTokens, outputTokens, cost } = lower.estimates.get(key) ?? nothing;
      return { ...estimate, atLeast: { calls, inputTokens, outputTokens, cost } };
    });
  }
}

const nothing: BoundedAmount = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0,
  outputTokensAtMost: 0,
  costAtMost: 0,
};

function added(one: BoundedAmount, other: BoundedAmount): BoundedAmount {
  return {
    calls: one.calls + other.calls,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cost: one.cost + other.cost,
    outputTokensAtMost: one.outputTokensAtMost + other.outputTokensAtMost,
    costAtMost: one.costAtMost + other.costAtMost,
  };
}

/** Tokens of the sentences that send an answer back. */
const REPAIR_TOKENS = 60;

/** The answer of an endpoint that accepts a schema: JSON with all fields, even if the expected text is not JSON. */
function asJson(text: string, { jsonSchema }: ChatRequest): string {
  const fields = schemaSchema.safeParse(jsonSchema?.schema).data?.properties;
  if (fields === undefined || jsonOrUndefined(text) !== undefined) return text;
  const names = Object.keys(fields);
  return JSON.stringify(Object.fromEntries(names.map((name, place) => [name, place === 0 ? text : ''])));
}

const schemaSchema = z.object({ properties: z.record(z.string(), z.unknown()) });

/**
 * The text of `--dry-run`: the range between the fewest calls and a repair of every answer, and the bound if every
 * answer is also as long as allowed.
 */
export function dryRunSummary(rows: readonly DryRunEstimate[]): string {
  if (rows.length === 0) return 'no language model would be asked';
  return rows
    .map((row) => {
      const { atLeast, repairs } = row;
      return (
        `${row.endpoint} (${row.model}): ${range(atLeast.calls, row.calls + repairs.calls)} calls, about ` +
        `${range(atLeast.inputTokens, row.inputTokens + repairs.inputTokens)} tokens in and ` +
        `${range(atLeast.outputTokens, row.outputTokens + repairs.outputTokens)} out ` +
        `(at most ${row.outputTokensAtMost + repairs.outputTokensAtMost})${costInWords(row)}; retries not counted`
      );
    })
    .join('\n');
}

function range(atLeast: number, atMost: number): string {
  return atLeast === atMost ? String(atMost) : `${atLeast} to ${atMost}`;
}

function costInWords({ prices, atLeast, cost, costAtMost, repairs }: DryRunEstimate): string {
  if (prices === null) return ', cost unknown: give the endpoint prices';
  if (costAtMost === 0) return '';
  const source = prices === 'list' ? ` (by ${priceList().name}: check it)` : '';
  const likely = moneyRange(atLeast.cost, cost + repairs.cost);
  return `, cost about ${likely}, at most ${(costAtMost + repairs.costAtMost).toFixed(4)}${source}`;
}

function moneyRange(atLeast: number, atMost: number): string {
  const [from, to] = [atLeast.toFixed(4), atMost.toFixed(4)];
  return from === to ? to : `${from} to ${to}`;
}
