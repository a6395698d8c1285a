import type { Usage } from '../detector.ts';
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
  readonly shortestDryRunText?: string;
  /** Replaces the endpoint's own value; null leaves the parameter out of the request. */
  readonly temperature?: number | null;
  readonly maxTokens?: number | null;
  /** Which of several answers to the same question this is; added to the endpoint's seed, if it has one. */
  readonly sampleIndex?: number;
  /** Ask for token log-probabilities, as far as the endpoint's `logprobs` mode allows. */
  readonly wantLogprobs?: boolean;
  /** Ask for an answer in JSON, by whatever means the endpoint supports. */
  readonly jsonSchema?:
    | {
        readonly name: string;
        readonly schema: Readonly<Record<string, unknown>>;
        /** Only for schemas without optional fields, or OpenAI refuses them. */
        readonly strict?: boolean;
        /** The prompt asks for plain text. Where the endpoint takes no schema it is not told of JSON at all. */
        readonly isPlainTextEnough?: boolean;
      }
    | undefined;
  /** What reads the answer; it is kept beside it. */
  readonly reader?: AnswerReader;
  /** Whether an answer that cannot be read is sent back once, which is another call. */
  readonly mayBeRepaired?: boolean;
  /** Cancels this call: at once while it is waiting, after a short grace period once it was sent. */
  readonly signal?: AbortSignal;
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
  /** Money, in the currency of the prices; absent where these are not known. */
  readonly cost?: number;
}

/** What reads an answer, as plain JSON, so that a kept answer can be read again. */
export type AnswerReader =
  | { readonly name: 'verdict'; readonly version: number; readonly words: AnswerWords }
  | { readonly name: 'json'; readonly version: number; readonly schema: Readonly<Record<string, unknown>> };

/** The words that stand for each label; case does not matter. */
export type AnswerWords = Readonly<Record<string, readonly string[]>>;

export interface ChatAnswer {
  /** The answer alone: what the model thought before it is in `thinking`. */
  readonly text: string;
  readonly thinking?: string;
  /** Of the tokens that spell the text. Null where the endpoint sends none, empty where they are those of another text. */
  readonly logprobs: readonly TokenLogprob[] | null;
  readonly usage: ChatUsage;
  /** How long the successful request took, without waiting and retries. */
  readonly latencyMs: number;
  /** As the endpoint tells it. `none`: it tells none. `refusal`: the text is the model's refusal. `tool_calls`: it called a tool. */
  readonly finishReason: string;
  /** Absent where nothing was sent. */
  readonly response?: {
    readonly body: string;
    /** The model that says it answered. */
    readonly model: string | null;
    /** Of the system that it ran on. */
    readonly fingerprint: string | null;
  };
}

/**
 * Sends calls for detectors and task models. Create one for the whole process, so that all share its concurrency,
 * budget and costs.
 */
export interface ChatService {
  chat(request: ChatRequest): Promise<ChatAnswer>;
}

/** What endpoints call an answer that ended by itself. Any other reason, known or not, means that it did not. */
const COMPLETE = ['stop', 'complete', 'eos', 'eos_token', 'end_turn', 'stop_sequence', 'none'];

type Incompleteness = 'cut-off' | 'filtered' | 'refused' | 'tool' | 'other';

/** What to say of the reasons that are known; nothing is read by them. */
const KNOWN: readonly (readonly [Incompleteness, RegExp, string])[] = [
  ['cut-off', /length|max_?tokens/i, 'it was cut off at the longest length allowed (maxTokens of the endpoint)'],
  ['filtered', /filter|safety|recitation|prohibited|blocklist/i, "it was cut off by the endpoint's content filter"],
  ['refused', /refus/i, 'the model refused to answer'],
  ['tool', /tool|function/i, 'the model called a tool instead of answering'],
];

/** In which way an answer is not a model's whole answer; null where it is whole. */
export function incompletenessOf(finishReason: string): Incompleteness | null {
  if (COMPLETE.includes(finishReason.toLowerCase())) return null;
  return KNOWN.find(([, pattern]) => pattern.test(finishReason))?.[0] ?? 'other';
}

/** Why an answer is not a model's whole answer, as a clause; null where it is. */
export function whyIncomplete({ finishReason, text }: Pick<ChatAnswer, 'finishReason' | 'text'>): string | null {
  const kind = incompletenessOf(finishReason);
  if (kind === null) return text.trim() === '' ? 'it is empty: there is nothing but reasoning' : null;
  const reason = KNOWN.find(([each]) => each === kind)?.[2] ?? 'the endpoint did not end it as a whole answer';
  return `${reason} (finish reason ${JSON.stringify(finishReason)})`;
}

/** The summed usage of several answers. */
export function usageOf(answers: readonly ChatAnswer[]): Usage {
  return answers.map(({ usage: { cachedInputTokens: _, ...usage } }) => usage).reduce(addedUsage, nothing);
}

const nothing: Usage = { requests: 0, inputTokens: 0, outputTokens: 0 };

/** The money is not known where that of either is not. */
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
