import { APIConnectionTimeoutError, APIError } from 'openai';
import { z } from 'zod';
import { ProviderError } from '../../src/errors.ts';
import type { ChatAnswer } from './chat.ts';
import { apiKeyOf, type Endpoint, keyAdvice, secretsOf } from './endpoint.ts';
import { type Environment, withoutSecrets } from './secrets.ts';

export type CallFailureKind =
  | 'rate-limit'
  | 'timeout'
  | 'connection'
  | 'tls'
  | 'server'
  | 'malformed'
  | 'quota'
  | 'context-length'
  | 'bad-request'
  | 'key'
  | 'forbidden'
  | 'not-found'
  | 'filtered'
  | 'redirect'
  | 'too-large'
  | 'no-answer';

const RETRYABLE: readonly CallFailureKind[] = ['rate-limit', 'timeout', 'connection', 'server', 'malformed'];

/** A failed request. The calling layer retries it or turns it into a ProviderError; it goes no further up. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly kind: CallFailureKind;
  readonly status: number | null;
  readonly retryAfterMs: number | null;

  constructor(options: { kind: CallFailureKind; message: string; status?: number; retryAfterMs?: number | null }) {
    super(options.message);
    this.kind = options.kind;
    this.status = options.status ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }

  get isRetryable(): boolean {
    return RETRYABLE.includes(this.kind);
  }

  /** Whether the endpoint is overloaded. */
  get isCongestion(): boolean {
    return this.kind === 'rate-limit' || this.kind === 'timeout' || this.status === 503 || this.status === 529;
  }
}

/** The failure behind whatever the client or the network threw; null for a defect of our own. */
export function callFailureOf(error: unknown): CallFailure | null {
  if (error instanceof CallFailure) return error;
  if (error instanceof APIConnectionTimeoutError) return new CallFailure({ kind: 'timeout', message: 'timed out' });
  if (error instanceof APIError) {
    if (error.status === undefined) return connectionFailure(error);
    const status: number = error.status;
    return failureOfStatus({
      status,
      message: error.message,
      code: error.code ?? null,
      headers: error.headers ?? null,
    });
  }
  // When a body breaks off, fetch throws a TypeError of its own ("terminated"), with the socket's error as its cause.
  if (error instanceof TypeError && (error.message === 'terminated' || error.message === 'fetch failed'))
    return connectionFailure(error);
  return null;
}

/** The codes of Node and OpenSSL: a certificate that nobody vouches for, or no TLS at all. The next attempt is no better. */
const NO_TLS = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_SSL|ERR_TLS|EPROTO/;

function connectionFailure(error: Error): CallFailure {
  const message = causeOf(error);
  return new CallFailure({ kind: NO_TLS.test(message) ? 'tls' : 'connection', message });
}

/** Also used for servers that answer 200 and put the error into the body. */
export function failureOfStatus(options: {
  status: number;
  message: string;
  code: string | null;
  headers: Headers | null;
}): CallFailure {
  const { status, message, code, headers } = options;
  const wait = headers ? retryAfterMs(headers) : null;
  return new CallFailure({ kind: kindOf({ status, message, code }), message, status, retryAfterMs: wait });
}

function kindOf(options: { status: number; message: string; code: string | null }): CallFailureKind {
  const { status, message, code } = options;
  if (status === 413 || ([400, 422, 429].includes(status) && isTooLong({ message, code }))) return 'context-length';
  // A spent quota is also a 429, but waiting does not refill it.
  if (status === 429) return code === 'insufficient_quota' ? 'quota' : 'rate-limit';
  if (status === 408) return 'timeout';
  if (status === 409 || status >= 500) return 'server';
  if (status === 401) return 'key';
  if (status === 402) return 'quota';
  if (status === 404) return 'not-found';
  if (status >= 300 && status < 400) return 'redirect';
  const said = SAID_WITH_ANY_STATUS.find(([, pattern]) => pattern.test(`${code} ${message}`));
  return said?.[0] ?? (status === 403 ? 'forbidden' : 'bad-request');
}

/**
 * OpenAI and vLLM speak of the maximum context length, llama.cpp of the context size, Anthropic of the context limit, xAI
 * of the maximum prompt length, Gemini of an input token count that exceeds a maximum, text-generation-inference of
 * max_new_tokens, others of a prompt that is too long. A request that is larger than a whole minute's limit is a 413 at
 * Groq and a 429 at OpenAI; no waiting makes it smaller.
 */
function isTooLong(options: { message: string; code: string | null }): boolean {
  if (options.code === 'context_length_exceeded') return true;
  return /context[ _]?(?:length|size|window|limit)|maximum (?:model|input|prompt) length|(?:prompt|input) is too long|too many (?:input )?tokens|token count .{0,40}exceeds|max_new_tokens. must be|request too large/i.test(
    options.message,
  );
}

/**
 * Not everybody uses 401, 402 and 404: a wrong key is a 400 at Google, and so are a wrong model at OpenRouter, Mistral,
 * DeepSeek and LiteLLM and a lack of credit at Anthropic. A text that a filter refuses is a 400 at Azure, DeepSeek, Qwen and
 * Moonshot and a 403 at OpenRouter.
 */
const SAID_WITH_ANY_STATUS: readonly (readonly [CallFailureKind, RegExp])[] = [
  [
    'filtered',
    /content[ _](?:filter|management|policy|exists risk)|(?:inappropriate|unsafe|sensitive) content|data_?inspection|\bflagged\b|considered high risk|safety system|敏感内容/i,
  ],
  [
    'key',
    /\bapi[ _-]?key\b.{0,20}\b(?:not valid|invalid|incorrect|expired|missing|required)\b|\b(?:invalid|incorrect|missing|no|expired|a valid) api[ _-]?key\b/i,
  ],
  ['quota', /\bcredit balance\b|\b(?:insufficient|not enough|out of) (?:account )?(?:balance|credits?|funds)\b/i],
  [
    'not-found',
    /\b(?:invalid|unknown|no such) model(?: name| id)?\b(?! (?:param|option|setting|input|output))|\bmodel\b.{0,100}?\b(?:does not exist|not exist|not found)\b|\bnot a valid model\b/i,
  ],
];

const withCode = z.object({ code: z.string() });

function causeOf(error: Error): string {
  const cause = error.cause instanceof Error ? (error.cause.cause ?? error.cause) : error;
  const parsed = withCode.safeParse(cause);
  const message = cause instanceof Error ? cause.message : error.message;
  return parsed.success && !message.includes(parsed.data.code) ? `${parsed.data.code} ${message}`.trim() : message;
}

/** How long the server asks us to wait, in milliseconds; null when it does not say. */
export function retryAfterMs(headers: Headers): number | null {
  const milliseconds = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const value = headers.get('retry-after')?.trim();
  if (!value) return null;
  const seconds = Number(value);
  if (!Number.isNaN(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  const until = Date.parse(value);
  // Measured by the server's own clock if it sends one, since ours may be off. Only a date needs a clock at all.
  const sent = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(until) ? null : Math.max(0, until - (Number.isNaN(sent) ? Date.now() : sent));
}

/** The budget does not allow another request. Nothing was sent, and earlier answers are not lost. */
export class BudgetSpentError extends ProviderError {}

/** No request to this endpoint can succeed until the user changes something: key, model, address or credit. */
export class EndpointUnusableError extends ProviderError {}

/** Whether all further calls would fail as well, so that asking on is pointless. */
export function endsAllCalls(error: unknown): boolean {
  return (
    error instanceof BudgetSpentError || error instanceof EndpointUnusableError || error instanceof UnreadableShareError
  );
}

/** So many answers cannot be read that asking on would be a waste of money. */
export class UnreadableShareError extends ProviderError {}

export type UnreadableAnswer = Pick<ChatAnswer, 'text' | 'thinking' | 'finishReason'>;

/** The model's answer could not be read as what was asked for, not even when it was asked again. */
export class MalformedAnswerError extends ProviderError {
  /** Those that could not be read, in the order in which they were given. */
  readonly answers: readonly UnreadableAnswer[];

  constructor(message: string, details: { answers: readonly UnreadableAnswer[] }) {
    super(message);
    this.answers = details.answers;
  }

  get lastAnswer(): string {
    return this.answers.at(-1)?.text ?? '';
  }
}

/** What was asked for, or the failure to read it, for whoever can do without. Other failures are thrown. */
export async function orUnreadable<T>(asked: Promise<T>): Promise<T | MalformedAnswerError> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof MalformedAnswerError) return error;
    throw error;
  }
}

/** Only the questions handed in before can be answered, such as those of a batch. */
export class CannotAskError extends ProviderError {}

/** The messages are longer than the model reads. */
export class ContextLengthError extends ProviderError {
  /** As told by the endpoint, or else by the configuration; null if neither says. */
  readonly contextTokens: number | null;
  readonly requestedTokens: number | null;

  constructor(message: string, details: { contextTokens: number | null; requestedTokens: number | null }) {
    super(message);
    this.contextTokens = details.contextTokens;
    this.requestedTokens = details.requestedTokens;
  }
}

const PROXIES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];
const nobodyThere = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|bad port/;

/**
 * The failure in words for the user: where, what, how often it was tried, what to do. The client's error is not kept
 * as the cause, because it quotes the server, and servers quote keys.
 */
export function providerErrorOf(options: {
  failure: CallFailure;
  endpoint: Endpoint;
  env: Environment;
  attempts: number;
  /** The longest wait that the caller grants an endpoint. */
  retryAfterCapMs: number;
}): ProviderError {
  const { failure, endpoint, env, attempts, retryAfterCapMs } = options;
  const said = withoutSecrets(failure.message, secretsOf({ endpoint, env })).replace(/\s+/g, ' ').slice(0, 500);
  const where = `endpoint ${endpoint.name} (${endpoint.baseURL}, model ${endpoint.model})`;
  const status = failure.status === null ? '' : ` with status ${failure.status}`;
  const tried = attempts === 1 ? 'at the first attempt' : `after ${attempts} attempts`;
  switch (failure.kind) {
    case 'key':
      return new EndpointUnusableError(
        `${keyAdvice({ endpoint, key: apiKeyOf({ endpoint, env }) })} (status ${failure.status} from ${endpoint.baseURL}: ${said})`,
      );
    case 'not-found':
      return new EndpointUnusableError(
        `endpoint ${endpoint.name} knows no model ${JSON.stringify(endpoint.model)}, or ${endpoint.baseURL} is not ` +
          `where it speaks chat completions: check model and baseURL (${endpoint.baseURL}/models lists its models; it said: ${said})`,
      );
    case 'context-length':
      return contextLengthError({ said, where, endpoint });
    case 'quota':
      return new EndpointUnusableError(
        `${where} has no quota or credit left (${said}); waiting does not help: top it up, then run again`,
      );
    case 'forbidden':
      return new ProviderError(
        `${where} forbids this request${status}: ${said}; check what the account and key may use`,
      );
    case 'bad-request':
      return new ProviderError(
        `${where} refused the request${status}: ${said}; check the parameters of the endpoint (temperature, maxTokensField, extraBody)`,
      );
    case 'redirect':
      return new EndpointUnusableError(
        `${where} ${said.replace(/^3\d\d /, '')}; neither posts nor keys follow a redirect: if you trust that address, make it the baseURL`,
      );
    case 'too-large':
      return new ProviderError(`${where}: ${said}; lower maxTokens, or raise maxAnswerMegabytes`);
    case 'filtered':
      return new ProviderError(
        failure.status === null
          ? `${where}: ${said}`
          : `${where} refused the text${status}: ${said}; use an endpoint that accepts such posts`,
      );
    case 'no-answer':
      return new ProviderError(`${where}: ${said}`);
    case 'malformed':
      return new ProviderError(
        `${where} gave no usable answer ${tried}: ${said}; check that baseURL is right (it usually ends in /v1) and speaks chat completions`,
      );
    case 'rate-limit': {
      const seconds = Math.ceil((failure.retryAfterMs ?? 0) / 1000);
      // The quota of an hour or a day: every other request would wait as long in vain.
      if ((failure.retryAfterMs ?? 0) > retryAfterCapMs)
        return new EndpointUnusableError(
          `${where} wants no request for another ${seconds} s (asked ${tried}${status}: ${said}); run again then`,
        );
      return new ProviderError(
        `${where} limited the rate ${tried}${status}: ${said}; set requestsPerMinute or tokensPerMinute to what it allows, or run again later`,
      );
    }
    case 'timeout':
      return new ProviderError(
        `${where} did not answer within ${endpoint.timeoutMs} ms ${tried}${status}: ${said}; raise timeoutMs, or lower maxTokens or concurrency.max`,
      );
    case 'connection': {
      const proxy = PROXIES.find((name) => env[name]);
      const through = proxy === undefined ? '' : `, and the proxy that ${proxy} names (NO_PROXY lists what needs none)`;
      const unreachable = `${where} could not be reached ${tried}: ${said}; check that it runs and that baseURL is right${through}, then run again`;
      // A broken connection may concern one answer only. A refused one concerns them all.
      return nobodyThere.test(said) ? new EndpointUnusableError(unreachable) : new ProviderError(unreachable);
    }
    case 'tls':
      return new EndpointUnusableError(
        `${where} could not be asked over TLS: ${said}; if its certificate is of an authority of your own, name that ` +
          "authority's file in the environment variable NODE_EXTRA_CA_CERTS; if it speaks no TLS, write http:// in baseURL",
      );
    case 'server':
      return new ProviderError(`${where} failed${status} ${tried}: ${said}; run again later`);
  }
}

function contextLengthError(options: { said: string; where: string; endpoint: Endpoint }): ContextLengthError {
  const { said, where, endpoint } = options;
  const numberAfter = (pattern: RegExp) => {
    const found = pattern.exec(said)?.[1];
    return found === undefined ? null : Number(found.replaceAll(',', ''));
  };
  const contextTokens =
    numberAfter(/maximum (?:context|model|input|prompt) length (?:is |of )?([\d,]+)/i) ??
    numberAfter(/context (?:size|length|window) (?:is |of )?\(?([\d,]+)/i) ??
    numberAfter(/> ([\d,]+)/) ??
    numberAfter(/(?:tokens allowed|max_new_tokens. must be <=|\blimit) \(?([\d,]+)/i) ??
    endpoint.contextLength;
  const told =
    numberAfter(
      /(?:requested|resulted in|contains(?: at least)?|request|prompt|has|token count) \(?(?:length )?([\d,]+)/i,
    ) ?? numberAfter(/([\d,]+) (?:input )?tokens/i);
  const requestedTokens = told === contextTokens ? null : told;
  const numbers = `${requestedTokens ?? 'more'} tokens asked for, ${contextTokens ?? 'an unknown number'} possible`;
  return new ContextLengthError(
    `${where}: the messages are longer than the model reads (${numbers}; it said: ${said}); ` +
      'judge shorter prefixes (maxPosts), lower maxTokens or choose a model with a longer context',
    { contextTokens, requestedTokens },
  );
}
