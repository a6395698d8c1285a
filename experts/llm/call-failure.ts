import { APIConnectionTimeoutError, APIError } from 'openai';
import { z } from 'zod';
import { retryAfterMs } from './retry-after.ts';

export type CallFailureKind =
  | 'rate-limit'
  | 'timeout'
  | 'connection'
  | 'server'
  | 'malformed'
  | 'quota'
  | 'context-length'
  | 'bad-request'
  | 'key'
  | 'forbidden'
  | 'not-found'
  | 'no-answer';

const RETRYABLE: readonly CallFailureKind[] = ['rate-limit', 'timeout', 'connection', 'server', 'malformed'];

/** One request that came to nothing. It stays inside the calling layer, which retries it or makes it a ProviderError. */
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

  /** The endpoint has more to do than it can. */
  get isCongestion(): boolean {
    return this.kind === 'rate-limit' || this.kind === 'timeout' || this.status === 503 || this.status === 529;
  }
}

/** What a request failed of, from whatever the client or the network threw; null for a defect of ours. */
export function callFailureOf(error: unknown): CallFailure | null {
  if (error instanceof CallFailure) return error;
  if (error instanceof APIConnectionTimeoutError) return new CallFailure({ kind: 'timeout', message: 'timed out' });
  if (error instanceof APIError) {
    if (error.status === undefined) return new CallFailure({ kind: 'connection', message: causeOf(error) });
    const status: number = error.status;
    return failureOfStatus({
      status,
      message: error.message,
      code: error.code ?? null,
      headers: error.headers ?? null,
    });
  }
  // A body that breaks off reaches us as fetch's own TypeError ("terminated"), with the socket's error as its cause.
  if (error instanceof TypeError && (error.message === 'terminated' || error.message === 'fetch failed'))
    return new CallFailure({ kind: 'connection', message: causeOf(error) });
  return null;
}

/** Also for the servers that say 200 and put the error into the body. */
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
  // A spent quota is a 429 as well, but waiting does not fill it.
  if (status === 429) return code === 'insufficient_quota' ? 'quota' : 'rate-limit';
  if (status === 408) return 'timeout';
  if (status === 409 || status >= 500) return 'server';
  if (status === 401) return 'key';
  if (status === 402) return 'quota';
  if (status === 403) return 'forbidden';
  if ((status === 400 || status === 413 || status === 422) && isContextLength({ message, code }))
    return 'context-length';
  return status === 404 ? 'not-found' : 'bad-request';
}

/** OpenAI and vLLM name the maximum context length, llama.cpp the context size, others a prompt that is too long. */
function isContextLength(options: { message: string; code: string | null }): boolean {
  if (options.code === 'context_length_exceeded') return true;
  return /context[ _](length|size|window)|maximum (model|input) length|(prompt|input) is too long|too many (input )?tokens/i.test(
    options.message,
  );
}

const withCode = z.object({ code: z.string() });

function causeOf(error: Error): string {
  const cause = error.cause instanceof Error ? (error.cause.cause ?? error.cause) : error;
  const parsed = withCode.safeParse(cause);
  const message = cause instanceof Error ? cause.message : error.message;
  return parsed.success && !message.includes(parsed.data.code) ? `${parsed.data.code} ${message}`.trim() : message;
}
