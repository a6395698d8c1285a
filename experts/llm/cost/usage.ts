import { counted } from '../../../src/counted.ts';
import type { ChatUsage } from '../chat.ts';
import type { Endpoint } from '../endpoint.ts';
import { type Charge, costOf } from './cost-of.ts';

export interface EndpointUsage {
  readonly endpoint: string;
  readonly model: string;
  /** Requests sent, including retries. */
  readonly requests: number;
  readonly answers: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  /** Answers whose tokens were estimated because the endpoint did not count them. */
  readonly estimatedAnswers: number;
  /** Answers from another model than the requested one, and the names of those models. */
  readonly otherAnswers: number;
  readonly otherModels: readonly string[];
}

export class UsageTally {
  private readonly entries = new Map<string, { -readonly [key in keyof EndpointUsage]: EndpointUsage[key] }>();

  addRequest(endpoint: Endpoint): void {
    this.entryOf(endpoint).requests++;
  }

  /** Counts tokens, also of unusable answers, for which `isAnswer` is false. */
  addTokens(
    options: {
      endpoint: Endpoint;
      tokens: Omit<ChatUsage, 'requests'>;
      isEstimated: boolean;
      isAnswer: boolean;
      /** The model that the endpoint names; null for none. */
      model?: string | null;
    } & Charge,
  ): void {
    const { endpoint, tokens, isEstimated, isAnswer, model = null, reportedCost, isBatch } = options;
    const entry = this.entryOf(endpoint);
    if (isAnswer) entry.answers++;
    if (isAnswer && isEstimated) entry.estimatedAnswers++;
    if (model !== null && !isSameModel(endpoint.model, model)) {
      entry.otherAnswers++;
      entry.otherModels = [...new Set([...entry.otherModels, model])];
    }
    entry.inputTokens += tokens.inputTokens;
    entry.cachedInputTokens += tokens.cachedInputTokens;
    entry.outputTokens += tokens.outputTokens;
    entry.cost += costOf({ endpoint, usage: tokens, reportedCost, isBatch });
  }

  rows(): EndpointUsage[] {
    return [...this.entries.values()].map((entry) => ({ ...entry }));
  }

  private entryOf(endpoint: Endpoint) {
    const { name, model } = endpoint;
    const key = JSON.stringify([name, model]);
    const cached = this.entries.get(key);
    if (cached) return cached;
    const counts = { requests: 0, answers: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
    const entry = { endpoint: name, model, ...counts, cost: 0, estimatedAnswers: 0, otherAnswers: 0, otherModels: [] };
    this.entries.set(key, entry);
    return entry;
  }
}

/**
 * Whether two names mean the same model: one may add a release ("gpt-4o-mini-2024-07-18"), a router's prefix
 * ("openai/gpt-4o-mini"), a tag ("qwen2.5:latest") or the name of a file.
 */
export function isSameModel(requested: string, answered: string): boolean {
  const plain = (name: string) =>
    name
      .toLowerCase()
      .replace(/^.*[/\\]/, '')
      .replace(/\.gguf$/, '')
      .replace(/:latest$/, '')
      .replace(/[-@](?:latest|preview|\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{3}|\d{2}-\d{2,4})$/, '');
  return plain(requested) === plain(answered);
}

/** One line per endpoint and model, printed at the end of a command. */
export function usageSummary(rows: readonly EndpointUsage[]): string {
  if (rows.length === 0) return 'no language model was asked';
  return rows
    .map((row) => {
      const cached = row.cachedInputTokens > 0 ? ` (${row.cachedInputTokens} cached)` : '';
      const estimated =
        row.estimatedAnswers > 0 ? `; tokens of ${counted(row.estimatedAnswers, 'answer')} are estimates` : '';
      const cost = row.cost > 0 ? `, cost ${row.cost.toFixed(4)}` : '';
      const others =
        row.otherAnswers > 0
          ? `; ${counted(row.otherAnswers, 'answer')} came from another model than asked for (${row.otherModels.join(', ')})`
          : '';
      return (
        `${row.endpoint} (${row.model}): ${counted(row.answers, 'answer')} in ${counted(row.requests, 'request')}, ` +
        `${row.inputTokens}${cached} tokens in, ${row.outputTokens} out${cost}${estimated}${others}`
      );
    })
    .join('\n');
}
