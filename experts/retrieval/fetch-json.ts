import { z } from 'zod';
import { ProviderError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { Random } from '../../src/tensor/random.ts';
import { CallFailure, failureOfStatus } from '../llm/call-failure.ts';
import { EndpointUnusableError } from '../llm/failures.ts';
import { type Environment, jsonWithoutSecrets, type Secret, withoutSecrets } from '../llm/secrets.ts';
import { dispatcherOf, guardedFetch, limitedText } from '../llm/sending/guarded-fetch.ts';
import { RetriesEndedError, type RetryPolicy, withinTime, withRetries } from '../llm/sending/retry.ts';

/** The settings of every retrieval request besides its address. */
export interface FetchContext {
  readonly retry: RetryPolicy;
  /** Draws the jitter of waiting times. */
  readonly random: Random;
  readonly signal: AbortSignal | null;
  /** The environment, which may name a proxy. */
  readonly env: Environment;
}

/** More than any page of results. */
const MOST_BYTES = 16_000_000;

/**
 * Gets JSON from a service, with retries. A secret goes to the service's own origin only, and is masked in the value
 * and in errors.
 * @throws ProviderError that names the service if all attempts fail, EndpointUnusableError if no other request can
 *   succeed
 */
export async function fetchJson<T>(options: {
  service: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** A header with a secret. */
  secret?: { readonly header: string; readonly secret: Secret } | undefined;
  schema: z.ZodType<T>;
  timeoutMs: number;
  context: FetchContext;
  /** The remedy for a refused key. */
  keyAdvice: string;
}): Promise<T> {
  const { service, url, secret, schema, timeoutMs, context, keyAdvice } = options;
  const { retry, random, signal, env } = context;
  const secrets = secret === undefined ? [] : [secret.secret];
  const headers = secret === undefined ? options.headers : { ...options.headers, [secret.header]: secret.secret.value };
  const work = async (signal: AbortSignal) => {
    const response = await guardedFetch(url, {
      headers,
      signal,
      dispatcher: await dispatcherOf(env),
    });
    const text = withoutSecrets(await limitedText(response, MOST_BYTES), secrets);
    const { origin } = new URL(response.url);
    if (!response.ok && secret !== undefined && origin !== url.origin)
      throw new CallFailure({ kind: 'redirect', message: `redirects to ${origin}, which was not sent the key` });
    if (!response.ok)
      throw failureOfStatus({
        status: response.status,
        message: text.replace(/\s+/g, ' ').slice(0, 300) || response.statusText,
        code: null,
        headers: response.headers,
      });
    const parsed = schema.safeParse(jsonWithoutSecrets(jsonOrUndefined(text), secrets));
    if (parsed.success) return parsed.data;
    throw new CallFailure({
      kind: 'malformed',
      message: `the answer is not what this service's protocol says (${z.prettifyError(parsed.error).replace(/\s+/g, ' ')}): ${text.slice(0, 200)}`,
    });
  };
  try {
    const attempt = () => withinTime({ timeoutMs, signal, work });
    return await withRetries({ attempt, policy: retry, random, signal });
  } catch (error) {
    if (!(error instanceof RetriesEndedError)) throw error;
    const message = `${service} (${url.origin}${url.pathname}) ${failedInWords(error, keyAdvice)}`;
    // Otherwise every other question would be prepared, and paid for, in vain.
    const { failure, askedMs } = error;
    const isSpent = failure.isQuotaSpent || askedMs > retry.maxWaitMs;
    const concernsAll = failure.concerns === 'all' || failure.kind === 'forbidden' || isSpent;
    throw concernsAll ? new EndpointUnusableError(message) : new ProviderError(message);
  }
}

function failedInWords({ failure, attempts }: RetriesEndedError, keyAdvice: string): string {
  const { kind, message } = failure;
  const status = failure.status === null ? '' : ` with status ${failure.status}`;
  if (kind === 'redirect')
    return `${message}; a key follows no redirect to another host: if you trust it, make it the baseURL`;
  if (kind === 'key' || kind === 'forbidden') return `refused the request${status}: ${message}; ${keyAdvice}`;
  if (kind === 'quota') return `has no quota or credit left: ${message}; top it up, then run again`;
  const tried = attempts === 1 ? 'at the first attempt' : `after ${attempts} attempts`;
  const remedy = failure.isRetryable
    ? 'run again later: what was found is kept'
    : 'check its baseURL and options in the configuration';
  return `failed${status} ${tried}: ${message}; ${remedy}`;
}

/** An address below a configured base, with or without a slash at its end. */
export function serviceUrl(baseURL: string, options: { path: string; query: Readonly<Record<string, string>> }): URL {
  const url = new URL(baseURL);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${options.path}`;
  for (const [name, value] of Object.entries(options.query)) url.searchParams.set(name, value);
  return url;
}
