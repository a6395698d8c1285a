import { z } from 'zod';
import { retryAfterMs } from './retry-after.ts';

/**
 * Kinds of failures: whether another attempt may help, and whether other requests to the endpoint would fail, too.
 * Failures that perhaps concern all are believed once many are alike.
 */
const KINDS = {
  'rate-limit': { isRetryable: true, concerns: 'perhaps all' },
  timeout: { isRetryable: true, concerns: 'perhaps all' },
  connection: { isRetryable: true, concerns: 'perhaps all' },
  server: { isRetryable: true, concerns: 'perhaps all' },
  malformed: { isRetryable: true, concerns: 'perhaps all' },
  empty: { isRetryable: true, concerns: 'perhaps all' },
  'no-completion': { isRetryable: true, concerns: 'perhaps all' },
  'bad-request': { isRetryable: false, concerns: 'perhaps all' },
  forbidden: { isRetryable: false, concerns: 'perhaps all' },
  'no-answer': { isRetryable: false, concerns: 'perhaps all' },
  key: { isRetryable: false, concerns: 'all' },
  'not-found': { isRetryable: false, concerns: 'all' },
  quota: { isRetryable: false, concerns: 'all' },
  redirect: { isRetryable: false, concerns: 'all' },
  proxy: { isRetryable: false, concerns: 'all' },
  tls: { isRetryable: false, concerns: 'all' },
  'context-length': { isRetryable: false, concerns: 'one' },
  filtered: { isRetryable: false, concerns: 'one' },
  'too-large': { isRetryable: false, concerns: 'one' },
} as const;
export type CallFailureKind = keyof typeof KINDS;

/** A failed request. The calling layer retries it or turns it into a ProviderError. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly kind: CallFailureKind;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  /** The server's advice whether to repeat the request; null without any. */
  private readonly shouldRetry: boolean | null;

  constructor(options: {
    kind: CallFailureKind;
    message: string;
    status?: number;
    retryAfterMs?: number | null;
    shouldRetry?: boolean | null;
  }) {
    super(options.message);
    this.kind = options.kind;
    this.status = options.status ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.shouldRetry = options.shouldRetry ?? null;
  }

  get isRetryable(): boolean {
    return !this.isQuotaSpent && (this.shouldRetry ?? KINDS[this.kind].isRetryable);
  }

  /** The requests to the endpoint that the failure concerns. A broken connection may be about one answer only. */
  get concerns(): (typeof KINDS)[CallFailureKind]['concerns'] {
    return this.isUnreachable ? 'all' : KINDS[this.kind].concerns;
  }

  /** Whether no connection was made. */
  private get isUnreachable(): boolean {
    return this.kind === 'connection' && NOBODY_THERE.test(this.message);
  }

  /** Whether the limit is for an hour or longer, and the server does not say when it ends. */
  get isQuotaSpent(): boolean {
    return this.retryAfterMs === null && this.namesLongPeriod;
  }

  /** Whether the server names a limit for an hour or longer. */
  get namesLongPeriod(): boolean {
    return this.kind === 'rate-limit' && LONG_PERIOD.test(this.message);
  }

  /** The number of attempts. A whole body that is no completion is the endpoint's answer and hardly changes. */
  get mostAttempts(): number {
    return this.kind === 'no-completion' ? 3 : Number.POSITIVE_INFINITY;
  }

  /** Whether the request was refused or never arrived. An interrupted one may have been answered and charged. */
  get isFree(): boolean {
    return this.status !== null || this.kind === 'tls' || this.kind === 'proxy' || this.isUnreachable;
  }

  get isCongestion(): boolean {
    return this.kind === 'rate-limit' || this.kind === 'timeout' || this.status === 503 || this.status === 529;
  }
}

/** "requests per day", "PerDay", "free-models-per-day", "daily limit", "RPD", "your limit for this month". */
const LONG_PERIOD =
  /per[ _-]?(?:hour|day|week|month)|\b(?:this|an|each) (?:hour|day|week|month)\b|\b(?:hourly|daily|weekly|monthly)|\b[RT]P[HD]\b/i;

/** Codes of connections that were never made. */
const NOBODY_THERE = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|bad port/;

/** The failure behind an error of the client or the network; null for a defect of our own. */
export async function callFailureOf(error: unknown): Promise<CallFailure | null> {
  if (error instanceof CallFailure) return error;
  const { APIConnectionTimeoutError, APIError } = await import('openai');
  if (error instanceof APIConnectionTimeoutError) return new CallFailure({ kind: 'timeout', message: 'timed out' });
  if (error instanceof APIError) {
    if (error.status === undefined) return error.cause instanceof CallFailure ? error.cause : connectionFailure(error);
    const status: number = error.status;
    return failureOfStatus({
      status,
      message: error.message,
      code: error.code ?? null,
      headers: error.headers ?? null,
    });
  }
  // If a body breaks off, fetch throws a TypeError ("terminated") with the socket's error as its cause.
  if (error instanceof TypeError && (error.message === 'terminated' || error.message === 'fetch failed'))
    return connectionFailure(error);
  return null;
}

/** fetch turns status 407 into an error without a word, or one that quotes the status if it opens a tunnel. */
const WANTS_PASSWORD = /^$|Proxy response \(407\)/;

/** Codes of Node and OpenSSL for an untrusted certificate or no TLS at all, which another attempt does not change. */
const NO_TLS = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_SSL|ERR_TLS|EPROTO/;

function connectionFailure(error: Error): CallFailure {
  const message = causeOf(error);
  if (WANTS_PASSWORD.test(message))
    return new CallFailure({
      kind: 'proxy',
      message:
        'a proxy wants a user name and a password (status 407); write them into its address, as in HTTPS_PROXY=http://user:password@proxy.example:3128',
    });
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
  const kind = kindOf({ status, message, code });
  const header = headers?.get('x-should-retry');
  const shouldRetry = header === 'true' || header === 'false' ? header === 'true' : null;
  // In any other failure, headers about limits are irrelevant.
  const wait = kind === 'rate-limit' || kind === 'server' ? retryAfterMs({ headers, message }) : null;
  return new CallFailure({ kind, message, status, retryAfterMs: wait, shouldRetry });
}

function kindOf({ status, message, code }: { status: number; message: string; code: string | null }): CallFailureKind {
  if (status === 413 || ([400, 422, 429].includes(status) && isTooLong({ message, code }))) return 'context-length';
  // A spent quota is also a 429, but waiting does not refill it.
  if (status === 429) return code === 'insufficient_quota' ? 'quota' : 'rate-limit';
  if (status === 408) return 'timeout';
  // Too early, sent to the wrong server, given up by a proxy.
  if ([409, 421, 425, 499].includes(status) || status >= 500) return 'server';
  if (status === 401) return 'key';
  if (status === 402) return 'quota';
  // An address that takes no POST, or is gone, does not serve completions.
  if ([404, 405, 410].includes(status)) return 'not-found';
  if (status >= 300 && status < 400) return 'redirect';
  // Groq discards an answer that does not fit the schema; the next one may fit.
  if (code === 'json_validate_failed') return 'malformed';
  const match = SAID_WITH_ANY_STATUS.find(([, pattern]) => pattern.test(`${code} ${message}`));
  return match?.[0] ?? (status === 403 ? 'forbidden' : 'bad-request');
}

/**
 * Whether the prompt exceeds the model's context. OpenAI and vLLM call it maximum context length, llama.cpp context
 * size, Anthropic context limit, xAI maximum prompt length, Gemini an input token count that exceeds a maximum,
 * text-generation-inference max_new_tokens. A request above a whole minute's limit (413 at Groq, 429 at OpenAI) never
 * fits; one below it, by its numbers, is a rate limit.
 */
function isTooLong(options: { message: string; code: string | null }): boolean {
  if (options.code === 'context_length_exceeded') return true;
  const { limit, requested } = LARGE_REQUEST.exec(options.message)?.groups ?? {};
  if (limit !== undefined) return numberIn(requested) > numberIn(limit);
  return /context[ _]?(?:length|size|window|limit)|maximum (?:model|input|prompt) length|(?:prompt|input) is too long|too many (?:input )?tokens|token count .{0,40}exceeds|max_new_tokens. must be|request too large/i.test(
    options.message,
  );
}

/** "Request too large for gpt-4o (…) on tokens per min (TPM): Limit 30000, Requested 45000." */
const LARGE_REQUEST = /request too large.*\blimit:? (?<limit>[\d,]+).*\brequested:? (?<requested>[\d,]+)/is;

function numberIn(digits: string): number {
  return Number(digits.replaceAll(',', ''));
}

/**
 * Services use other statuses than 401, 402 and 404: a wrong key is a 400 at Google, and so are a wrong model at
 * OpenRouter, Mistral, DeepSeek and LiteLLM and a lack of credit at Anthropic. A filtered text is a 400 at Azure,
 * DeepSeek, Qwen and Moonshot and a 403 at OpenRouter. A spent quota is a 403 at older services of Google.
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
  ['rate-limit', /\b(?:hourly|daily|weekly|monthly) (?:\w+ )?(?:quota|limit)\b|\b(?:daily|rate)_?limit_?exceeded\b/i],
  ['quota', /\bcredit balance\b|\b(?:insufficient|not enough|out of) (?:account )?(?:balance|credits?|funds)\b/i],
  [
    'not-found',
    /\b(?:invalid|unknown|no such) model(?: name| id)?\b(?! (?:param|option|setting|input|output))|\bmodel\b.{0,100}?\b(?:does not exist|not exist|not found)\b|\bnot a valid model\b/i,
  ],
];

const withCode = z.object({ code: z.string() });

/** The message of the root cause, with its code. */
function causeOf(error: Error): string {
  if (error.cause instanceof Error) return causeOf(error.cause);
  const code = withCode.safeParse(error).data?.code ?? '';
  return error.message.includes(code) ? error.message : `${code} ${error.message}`.trim();
}
