import { z } from 'zod';
import { InputError, ProviderError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { Random } from '../../src/tensor/random.ts';
import { CallFailure, callFailureOf, failureOfStatus } from '../llm/failures.ts';
import { RetriesEndedError, type RetryPolicy, withRetries } from '../llm/retry.ts';

/** What every retrieval request needs besides its address. */
export interface FetchContext {
  readonly retry: RetryPolicy;
  /** Draws the jitter of waiting times. */
  readonly random: Random;
  readonly signal: AbortSignal | null;
}

/**
 * Gets JSON from a service, with retries.
 * @throws ProviderError that names the service, where all attempts fail
 */
export async function fetchJson<T>(options: {
  service: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  schema: z.ZodType<T>;
  timeoutMs: number;
  context: FetchContext;
  /** What to do about a refused key. */
  keyAdvice: string;
}): Promise<T> {
  const { service, url, headers, schema, timeoutMs, context, keyAdvice } = options;
  const { retry, random, signal } = context;
  try {
    return await withRetries({
      attempt: () => attempt({ url, headers, schema, timeoutMs, signal }),
      policy: retry,
      random,
      signal,
    });
  } catch (error) {
    if (!(error instanceof RetriesEndedError)) throw error;
    const { failure, attempts } = error;
    const where = `${service} (${url.origin}${url.pathname})`;
    const status = failure.status === null ? '' : ` with status ${failure.status}`;
    if (failure.kind === 'key' || failure.kind === 'forbidden')
      throw new ProviderError(`${where} refused the request${status}: ${failure.message}; ${keyAdvice}`);
    if (failure.kind === 'quota')
      throw new ProviderError(`${where} has no quota or credit left: ${failure.message}; top it up, then run again`);
    const tried = attempts === 1 ? 'at the first attempt' : `after ${attempts} attempts`;
    throw new ProviderError(
      `${where} failed${status} ${tried}: ${failure.message}; ` +
        (failure.isRetryable
          ? 'run again later: what was found is kept'
          : 'check its baseURL and options in the configuration'),
    );
  }
}

async function attempt<T>(options: {
  url: URL;
  headers: Readonly<Record<string, string>>;
  schema: z.ZodType<T>;
  timeoutMs: number;
  signal: AbortSignal | null;
}): Promise<T> {
  const { url, headers, schema, timeoutMs, signal } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { headers, signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    const text = await response.text();
    if (!response.ok)
      throw failureOfStatus({
        status: response.status,
        message: text.replace(/\s+/g, ' ').slice(0, 300) || response.statusText,
        code: null,
        headers: response.headers,
      });
    const parsed = schema.safeParse(jsonOrUndefined(text));
    if (parsed.success) return parsed.data;
    throw new CallFailure({
      kind: 'malformed',
      message: `the answer is not what this service's protocol says (${z.prettifyError(parsed.error).replace(/\s+/g, ' ')}): ${text.slice(0, 200)}`,
    });
  } catch (error) {
    signal?.throwIfAborted();
    if (timeout.aborted) throw new CallFailure({ kind: 'timeout', message: `no answer after ${timeoutMs} ms` });
    throw callFailureOf(error) ?? error;
  }
}

/** An address below a configured base, with or without a slash at its end. */
export function serviceUrl(baseURL: string, options: { path: string; query: Readonly<Record<string, string>> }): URL {
  const text = `${baseURL.replace(/\/+$/, '')}${options.path}`;
  if (!URL.canParse(text)) throw new InputError(`${baseURL} is not an http(s) address`);
  const url = new URL(text);
  for (const [name, value] of Object.entries(options.query)) url.searchParams.set(name, value);
  return url;
}
