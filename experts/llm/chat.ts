import { z } from 'zod';
import { type Usage, usageSchema } from '../detector.ts';
import type { Endpoint } from './endpoint.ts';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface ChatRequest {
  readonly endpoint: Endpoint;
  readonly messages: readonly ChatMessage[];
  /** The answer in a dry run: as long as a typical answer, and readable by the caller's parser. */
  readonly dryRunText: string;
  /** The answer in a dry run with the fewest calls, if another answer ends the conversation earlier. */
  readonly shortestDryRunText?: string;
  /** Replaces the endpoint's own value; null leaves the parameter out of the request. */
  readonly temperature?: number | null;
  readonly maxTokens?: number | null;
  /** The index of this answer among several to the same question. It is added to the endpoint's seed, if any. */
  readonly sampleIndex?: number;
  /** Requests token log-probabilities if the endpoint's `logprobs` mode allows them. */
  readonly wantLogprobs?: boolean;
  /** Requests an answer in JSON, by whatever means the endpoint supports. */
  readonly jsonSchema?:
    | {
        readonly name: string;
        readonly schema: Readonly<Record<string, unknown>>;
        /** Only for schemas without optional fields; OpenAI refuses others. */
        readonly strict?: boolean;
        /** The prompt asks for plain text. An endpoint without schemas is not asked for JSON at all. */
        readonly isPlainTextEnough?: boolean;
      }
    | undefined;
  /** Whether an answer that cannot be read is sent back once, which is another call. */
  readonly mayBeRepaired?: boolean;
  /** Cancels this call: at once before it is sent, otherwise after a short grace period. */
  readonly signal?: AbortSignal;
}

export const tokenSchema = z.object({ token: z.string(), logprob: z.number() });

const chatUsageSchema = usageSchema.extend({
  /** A part of the input tokens. */
  cachedInputTokens: z.int().nonnegative(),
});
export type ChatUsage = Readonly<z.infer<typeof chatUsageSchema>>;

export const chatAnswerSchema = z.object({
  /** The answer alone, without the model's `thinking`. */
  text: z.string(),
  thinking: z.string().optional(),
  /**
   * Log-probabilities of the text's tokens; `top` has the likeliest tokens at the position, usually with the chosen one.
   * Null if the endpoint sends none, empty if they belong to another text.
   */
  logprobs: z
    .array(tokenSchema.extend({ top: z.array(tokenSchema).readonly() }))
    .readonly()
    .nullable(),
  /** The cost of this answer, including retries. */
  usage: chatUsageSchema,
  /** Duration of the successful request, without waiting and retries. */
  latencyMs: z.number().nonnegative(),
  /**
   * The endpoint's reason; `none` without one, `refusal` if the text is a refusal, `tool_calls` if it called a tool.
   */
  finishReason: z.string(),
});

export interface ChatAnswer extends Readonly<z.infer<typeof chatAnswerSchema>> {
  /** The response; absent if nothing was sent. */
  readonly response?: {
    readonly body: string;
    /** The model that the response names. */
    readonly model: string | null;
    /** The fingerprint of the system behind the model. */
    readonly fingerprint: string | null;
  };
}

export type TokenLogprob = NonNullable<ChatAnswer['logprobs']>[number];

/** Sends calls for detectors and task models. One service per process makes all share concurrency, budget and costs. */
export interface ChatService {
  chat(request: ChatRequest): Promise<ChatAnswer>;
}

/** Endpoints' names for an answer that ended by itself. Any other reason, known or not, means that it did not. */
const COMPLETE = ['stop', 'complete', 'eos', 'eos_token', 'end_turn', 'stop_sequence', 'none'];

type Incompleteness = 'cut-off' | 'filtered' | 'refused' | 'tool' | 'other';

/** Words for messages about known reasons. They decide nothing. */
const KNOWN: readonly (readonly [Incompleteness, RegExp, string])[] = [
  ['cut-off', /length|max_?tokens/i, 'it was cut off at the longest length allowed (maxTokens of the endpoint)'],
  ['filtered', /filter|safety|recitation|prohibited|blocklist/i, "it was cut off by the endpoint's content filter"],
  ['refused', /refus/i, 'the model refused to answer'],
  ['tool', /tool|function/i, 'the model called a tool instead of answering'],
];

/** How an answer is incomplete; null for a complete one. */
export function incompletenessOf(finishReason: string): Incompleteness | null {
  if (COMPLETE.includes(finishReason.toLowerCase())) return null;
  return KNOWN.find(([, pattern]) => pattern.test(finishReason))?.[0] ?? 'other';
}

/** Why an answer is incomplete, as a clause; null for a complete one. */
export function whyIncomplete({ finishReason, text }: Pick<ChatAnswer, 'finishReason' | 'text'>): string | null {
  const kind = incompletenessOf(finishReason);
  if (kind === null) return text.trim() === '' ? 'it is empty: there is nothing but reasoning' : null;
  const reason = KNOWN.find(([each]) => each === kind)?.[2] ?? 'the endpoint did not end it as a whole answer';
  return `${reason} (finish reason ${JSON.stringify(finishReason)})`;
}

export function usageOf(answers: readonly ChatAnswer[]): Usage {
  return answers.map(({ usage: { cachedInputTokens: _, ...usage } }) => usage).reduce(addedUsage, nothing);
}

const nothing: Usage = { requests: 0, inputTokens: 0, outputTokens: 0 };

/** The sum has a cost only if the cost of both is known. */
export function addedUsage(one: Usage, other: Usage): Usage {
  const costs = [one, other].flatMap(({ requests, cost }) => (requests > 0 ? [cost] : []));
  const prices = costs.filter((cost) => cost !== undefined);
  return {
    requests: one.requests + other.requests,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    ...(prices.length > 0 && prices.length === costs.length && { cost: prices.reduce((sum, cost) => sum + cost, 0) }),
  };
}
