import { maxTokensOf } from '../answers/request-form.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../chat.ts';
import { costOf } from './cost-of.ts';
import { estimateMessageTokens, estimateReasoningTokens, estimateTokens } from './estimate.ts';
import { priceList, pricesOf } from './prices.ts';

/** Calls, and what they take if answers are as long as the pretended ones. */
interface Amount {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
}

export interface DryRunEstimate extends Amount {
  readonly endpoint: string;
  readonly model: string;
  /** If every answer is as long as it may be. */
  readonly outputTokensAtMost: number;
  readonly costAtMost: number;
  /** Calls whose answers are sent back once where they cannot be read; such calls are not in any other number. */
  readonly repairsAtMost: number;
  /** If the models agree as soon as they can. */
  readonly atLeast: Amount;
  /** Where the prices come from; null where there are none, so that costs are 0. */
  readonly prices: 'endpoint' | 'list' | null;
}

/**
 * Sends nothing. It answers each request with the text that the caller expects, and counts what that would cost.
 * `upper` takes the answers that lead to the most calls, `lower` those that lead to the fewest.
 */
export class DryRunChatService implements ChatService {
  readonly bound: 'lower' | 'upper';
  /** Whether another answer would have ended some matter earlier. If not, the other bound is the same. */
  hasShorter = false;
  private readonly estimates = new Map<string, { -readonly [key in keyof DryRunEstimate]: DryRunEstimate[key] }>();

  constructor(options: { bound: 'lower' | 'upper' } = { bound: 'upper' }) {
    this.bound = options.bound;
  }

  chat(request: ChatRequest): Promise<ChatAnswer> {
    const { endpoint, dryRunText, shortestDryRunText = dryRunText } = request;
    this.hasShorter ||= shortestDryRunText !== dryRunText;
    const text = this.bound === 'upper' ? dryRunText : shortestDryRunText;
    const inputTokens = estimateMessageTokens(request.messages);
    const longest = maxTokensOf(request) ?? Number.POSITIVE_INFINITY;
    const outputTokens = Math.max(
      estimateTokens(text),
      Math.min(longest, estimateTokens(text) + estimateReasoningTokens(endpoint)),
    );
    const atMost = Math.max(outputTokens, maxTokensOf(request) ?? outputTokens);
    const estimate = this.estimateOf(request);
    estimate.calls++;
    if (request.mayBeRepaired) estimate.repairsAtMost++;
    estimate.inputTokens += inputTokens;
    estimate.outputTokens += outputTokens;
    estimate.outputTokensAtMost += atMost;
    const input = { inputTokens, cachedInputTokens: 0 };
    estimate.cost += costOf({ endpoint, usage: { ...input, outputTokens } });
    estimate.costAtMost += costOf({ endpoint, usage: { ...input, outputTokens: atMost } });
    return Promise.resolve({
      text,
      logprobs: null,
      usage: { requests: 1, ...input, outputTokens },
      latencyMs: 0,
      finishReason: 'stop',
    });
  }

  /** What was asked so far; `lower` is the same work with the fewest calls, this one's own unless given. */
  rows(lower: DryRunChatService = this): DryRunEstimate[] {
    return [...this.estimates].map(([key, estimate]) => {
      const { calls, inputTokens, outputTokens, cost } = lower.estimates.get(key) ?? nothing;
      return { ...estimate, atLeast: { calls, inputTokens, outputTokens, cost } };
    });
  }

  private estimateOf({ endpoint }: ChatRequest) {
    const { name, model } = endpoint;
    const key = JSON.stringify([name, model]);
    const found = this.estimates.get(key);
    if (found) return found;
    const prices = endpoint.prices !== null ? 'endpoint' : pricesOf(endpoint) === null ? null : 'list';
    const atMost = { outputTokensAtMost: 0, costAtMost: 0, repairsAtMost: 0 };
    const estimate: DryRunEstimate = { endpoint: name, model, ...nothing, ...atMost, atLeast: nothing, prices };
    const counted = { ...estimate };
    this.estimates.set(key, counted);
    return counted;
  }
}

const nothing: Amount = { calls: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

/** What `--dry-run` prints. */
export function dryRunSummary(rows: readonly DryRunEstimate[]): string {
  if (rows.length === 0) return 'no language model would be asked';
  return rows
    .map((row) => {
      const { atLeast, calls, inputTokens, outputTokensAtMost, repairsAtMost } = row;
      return (
        `${row.endpoint} (${row.model}): ${range(atLeast.calls, calls)} calls, about ${range(atLeast.inputTokens, inputTokens)} ` +
        `tokens in and ${range(atLeast.outputTokens, row.outputTokens)} out (at most ${outputTokensAtMost})${costInWords(row)}; ` +
        `retries not counted, nor up to ${repairsAtMost} calls to repair answers that cannot be read`
      );
    })
    .join('\n');
}

function range(atLeast: number, atMost: number): string {
  return atLeast === atMost ? String(atMost) : `${atLeast} to ${atMost}`;
}

function costInWords({ prices, atLeast, costAtMost }: DryRunEstimate): string {
  if (prices === null) return ', cost unknown: give the endpoint prices';
  if (costAtMost === 0) return '';
  const source = prices === 'list' ? ` (by ${priceList().name}: check it)` : '';
  return `, cost about ${atLeast.cost.toFixed(4)}, at most ${costAtMost.toFixed(4)}${source}`;
}
