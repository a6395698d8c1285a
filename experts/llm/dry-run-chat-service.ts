import { costOf, estimateMessageTokens, estimateTokens } from './budget.ts';
import type { ChatAnswer, ChatRequest, ChatService } from './chat.ts';
import { maxTokensOf } from './completion.ts';

export interface DryRunEstimate {
  readonly endpoint: string;
  readonly model: string;
  readonly calls: number;
  readonly inputTokens: number;
  /** If answers are as long as the pretended ones. */
  readonly outputTokens: number;
  readonly cost: number;
  /** If every answer is as long as it may be. */
  readonly outputTokensAtMost: number;
  readonly costAtMost: number;
}

/** Sends nothing. It answers each request with the text that the caller expects, and counts what that would cost. */
export class DryRunChatService implements ChatService {
  private readonly estimates = new Map<string, { -readonly [key in keyof DryRunEstimate]: DryRunEstimate[key] }>();

  chat(request: ChatRequest): Promise<ChatAnswer> {
    const { endpoint, dryRunText } = request;
    const inputTokens = estimateMessageTokens(request.messages);
    const outputTokens = estimateTokens(dryRunText);
    const atMost = Math.max(outputTokens, maxTokensOf(request) ?? outputTokens);
    const estimate = this.estimateOf(request);
    estimate.calls++;
    estimate.inputTokens += inputTokens;
    estimate.outputTokens += outputTokens;
    estimate.outputTokensAtMost += atMost;
    const input = { inputTokens, cachedInputTokens: 0 };
    estimate.cost += costOf({ endpoint, usage: { ...input, outputTokens } });
    estimate.costAtMost += costOf({ endpoint, usage: { ...input, outputTokens: atMost } });
    return Promise.resolve({
      text: dryRunText,
      logprobs: null,
      usage: { requests: 1, ...input, outputTokens },
      latencyMs: 0,
      finishReason: 'stop',
    });
  }

  rows(): DryRunEstimate[] {
    return [...this.estimates.values()].map((estimate) => ({ ...estimate }));
  }

  private estimateOf(request: ChatRequest) {
    const { name, model } = request.endpoint;
    const key = JSON.stringify([name, model]);
    const found = this.estimates.get(key);
    if (found) return found;
    const tokens = { calls: 0, inputTokens: 0, outputTokens: 0, outputTokensAtMost: 0 };
    const estimate = { endpoint: name, model, ...tokens, cost: 0, costAtMost: 0 };
    this.estimates.set(key, estimate);
    return estimate;
  }
}

/** What `--dry-run` prints. */
export function dryRunSummary(rows: readonly DryRunEstimate[]): string {
  if (rows.length === 0) return 'no language model would be asked';
  return rows
    .map((row) => {
      const cost =
        row.costAtMost > 0 ? `, cost about ${row.cost.toFixed(4)}, at most ${row.costAtMost.toFixed(4)}` : '';
      return (
        `${row.endpoint} (${row.model}): ${row.calls} calls, about ${row.inputTokens} tokens in and ` +
        `${row.outputTokens} out (at most ${row.outputTokensAtMost})${cost}; retries not counted`
      );
    })
    .join('\n');
}
