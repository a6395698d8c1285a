import type { Judgement } from '../detector.ts';
import type { Endpoint } from './endpoint.ts';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface ChatRequest {
  readonly endpoint: Endpoint;
  readonly messages: readonly ChatMessage[];
  /** What a dry run answers: as long as a typical answer, and readable by the caller's parser. */
  readonly dryRunText: string;
  /** What it answers to find the fewest calls, where another answer ends the matter earlier. */
  readonly shortestDryRunText?: string | undefined;
  /** Replaces the endpoint's own value; null leaves the parameter out of the request. */
  readonly temperature?: number | null | undefined;
  readonly maxTokens?: number | null | undefined;
  /** Which of several answers to the same question this is; added to the endpoint's seed, if it has one. */
  readonly sampleIndex?: number | undefined;
  /** Ask for token log-probabilities, as far as the endpoint's `logprobs` mode allows. */
  readonly wantLogprobs?: boolean | undefined;
  /** Ask for an answer in JSON, by whatever means the endpoint supports. */
  readonly jsonSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> } | undefined;
  /** Whether an answer that cannot be read is sent back once, which is another call. */
  readonly mayBeRepaired?: boolean | undefined;
  /** Cancels this call: at once while it is waiting, after a short grace period once it was sent. */
  readonly signal?: AbortSignal | undefined;
}

export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  /** The likeliest tokens at this position, usually including the one chosen. */
  readonly top: readonly { readonly token: string; readonly logprob: number }[];
}

export interface ChatUsage {
  /** Requests sent for this answer, including retries. */
  readonly requests: number;
  /** Includes the cached ones. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

export interface ChatAnswer {
  /** The answer alone: what the model thought before it is in `thinking`. */
  readonly text: string;
  readonly thinking?: string | undefined;
  /** Of the tokens of the text. */
  readonly logprobs: readonly TokenLogprob[] | null;
  readonly usage: ChatUsage;
  /** How long the successful request took, without waiting and retries. */
  readonly latencyMs: number;
  /** `length`: the answer was cut off at maxTokens. `refusal`: the text is the model's refusal. */
  readonly finishReason: string;
}

/**
 * Sends calls for detectors and task models. Create one for the whole process, so that all share its concurrency,
 * budget and costs.
 */
export interface ChatService {
  chat(request: ChatRequest): Promise<ChatAnswer>;
}

export type Incompleteness = 'cut-off' | 'filtered' | 'refused' | 'broken-off';

/** Endpoints that only imitate OpenAI pass on reasons of their own: `MAX_TOKENS`, `model_length`, `SAFETY`, `abort`. */
const INCOMPLETE: readonly (readonly [Incompleteness, RegExp, string])[] = [
  ['cut-off', /length|max_?tokens/i, 'it was cut off at the longest length allowed (maxTokens of the endpoint)'],
  ['filtered', /filter|safety|recitation|prohibited|blocklist/i, "it was cut off by the endpoint's content filter"],
  ['refused', /refus/i, 'the model refused to answer'],
  ['broken-off', /abort|error|cancel|interrupt|insufficient/i, 'the endpoint broke off the answer'],
];

/** In which way an answer is not a model's whole answer; null where it is whole. */
export function incompletenessOf({ finishReason }: Pick<ChatAnswer, 'finishReason'>): Incompleteness | null {
  return INCOMPLETE.find(([, pattern]) => pattern.test(finishReason))?.[0] ?? null;
}

/** Why an answer is not a model's whole answer, as a clause; null where it is. */
export function whyIncomplete({ finishReason }: Pick<ChatAnswer, 'finishReason'>): string | null {
  return INCOMPLETE.find(([, pattern]) => pattern.test(finishReason))?.[2] ?? null;
}

/** The summed usage of several answers. */
export function usageOf(answers: readonly ChatAnswer[]): Judgement['usage'] {
  const sum = (count: (usage: ChatUsage) => number) => answers.reduce((total, { usage }) => total + count(usage), 0);
  return {
    requests: sum((usage) => usage.requests),
    inputTokens: sum((usage) => usage.inputTokens),
    outputTokens: sum((usage) => usage.outputTokens),
  };
}
