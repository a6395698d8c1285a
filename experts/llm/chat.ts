import type { Judgement } from '../detector.ts';
import type { Endpoint } from './endpoint.ts';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface ChatRequest {
  readonly endpoint: Endpoint;
  readonly messages: readonly ChatMessage[];
  /** What a dry run pretends was answered: as long as a typical answer, and readable by the caller's parser. */
  readonly dryRunText: string;
  /** Instead of the endpoint's own; null leaves the parameter out. */
  readonly temperature?: number | null | undefined;
  readonly maxTokens?: number | null | undefined;
  /** Which of several answers to the same question; moves the seed, where there is one. */
  readonly sampleIndex?: number | undefined;
  /** Ask for token log-probabilities, as far as the endpoint's `logprobs` mode allows. */
  readonly wantLogprobs?: boolean | undefined;
  /** Ask for an answer in JSON; weakened to what the endpoint understands. */
  readonly jsonSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> } | undefined;
  /** Ends this call: at once while it waits, with a short grace once it was sent. */
  readonly signal?: AbortSignal | undefined;
}

export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  /** The likeliest tokens at this position, as a rule with the one chosen. */
  readonly top: readonly { readonly token: string; readonly logprob: number }[];
}

export interface ChatUsage {
  /** Requests sent for this answer, retries included. */
  readonly requests: number;
  /** Cached ones included. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

export interface ChatAnswer {
  readonly text: string;
  readonly logprobs: readonly TokenLogprob[] | null;
  readonly usage: ChatUsage;
  /** Of the request that was answered, without waiting and retries. */
  readonly latencyMs: number;
  /** `length` means the answer was cut off at maxTokens, `refusal` that the text is the model's refusal. */
  readonly finishReason: string;
}

/** What detectors are handed. Make one for the whole process: concurrency, budget and costs are shared through it. */
export interface ChatService {
  chat(request: ChatRequest): Promise<ChatAnswer>;
}

/** The usage of a judgement made of several answers. */
export function usageOf(answers: readonly ChatAnswer[]): Judgement['usage'] {
  const sum = (count: (usage: ChatUsage) => number) => answers.reduce((total, { usage }) => total + count(usage), 0);
  return {
    requests: sum((usage) => usage.requests),
    inputTokens: sum((usage) => usage.inputTokens),
    outputTokens: sum((usage) => usage.outputTokens),
  };
}
