import { performance } from 'node:perf_hooks';
import type OpenAI from 'openai';
import { z } from 'zod';
import { ProviderError } from '../../../src/errors.ts';
import { jsonOrUndefined } from '../../../src/json.ts';
import type { Random } from '../../../src/tensor/random.ts';
import { CallFailure, callFailureOf } from '../call-failure.ts';
import { apiKeyOf, type Endpoint, headersOf, secretsOf } from '../endpoint.ts';
import { providerErrorOf } from '../provider-error.ts';
import { type Environment, type Secret, withoutSecrets } from '../secrets.ts';
import { dispatcherOf, guardedFetch, limitedText, redirectOf } from './guarded-fetch.ts';
import { RetriesEndedError, retrySchema, withRetries } from './retry.ts';

/** The `openai` client for an endpoint. It neither retries nor logs, and ignores OpenAI's own environment variables. */
export async function endpointClient(options: { endpoint: Endpoint; env: Environment }): Promise<OpenAI> {
  const { endpoint, env } = options;
  const dispatcher = await dispatcherOf(env);
  // Most commands ask no language model.
  const { default: Client } = await import('openai');
  return new Client({
    baseURL: endpoint.baseURL,
    // Local servers ignore the key, but the client insists on one.
    apiKey: apiKeyOf(options) ?? 'no-key',
    defaultHeaders: headersOf(options),
    defaultQuery: endpoint.query,
    adminAPIKey: null,
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: 'off',
    // Our timeout fires first. The client's only covers the headers, and a body can trickle in for ever.
    timeout: endpoint.timeoutMs + 1000,
    fetch: async (url, init) => {
      const address = url instanceof Request ? url.url : url;
      const response = await guardedFetch(address, { ...init, dispatcher });
      return response.ok ? response : withWrappedError(response, address);
    },
  });
}

/** Longest error that is read. */
const MOST_ERROR_BYTES = 1_000_000;
/** Of an answer, with its log-probabilities; a longer one fails the call. */
const MOST_ANSWER_BYTES = 32e6;

const usualErrorSchema = z.object({ error: z.looseObject({ message: z.string() }) });
const bareErrorSchema = z.union([
  // Google's compatible endpoint wraps its errors into an array.
  z
    .array(usualErrorSchema)
    .min(1)
    .transform(([{ error }]) => error.message),
  z.object({ message: z.string() }).transform(({ message }) => message),
  z
    .object({ detail: z.unknown() })
    .transform(({ detail }) => (typeof detail === 'string' ? detail : JSON.stringify(detail))),
  z.object({ error: z.string() }).transform(({ error }) => error),
]);

/**
 * Some servers (older vLLM, FastAPI, Ollama) put the message elsewhere than OpenAI, so the client would drop it. But
 * the message is what tells of a context that is too long, or of an unknown field.
 */
async function withWrappedError(response: Response, address: string | URL): Promise<Response> {
  const { status, headers } = response;
  const target = redirectOf(response, address);
  if (target !== null) {
    await response.body?.cancel();
    const message = `redirects to ${target.origin}${target.pathname.replace(/\/chat\/completions\/?$/, '')}`;
    return new Response(JSON.stringify({ error: { message } }), { status, headers });
  }
  const text = await limitedText(response, MOST_ERROR_BYTES);
  const json = jsonOrUndefined(text);
  const bare = usualErrorSchema.safeParse(json).success ? null : (bareErrorSchema.safeParse(json).data ?? null);
  return new Response(bare === null ? text : JSON.stringify({ error: { message: bare } }), { status, headers });
}

/**
 * Posts a body and reads the whole response within the endpoint's time limit. After an abort the request has another
 * `graceMs` to finish, because it is already paid for; then the signal's reason is thrown. Secrets that the response
 * quotes are masked.
 */
export async function send(options: {
  client: OpenAI;
  endpoint: Endpoint;
  secrets: readonly Secret[];
  path: string;
  body: Record<string, unknown>;
  graceMs: number;
  signal: AbortSignal | null;
}): Promise<{ readonly body: string; readonly latencyMs: number }> {
  const { client, endpoint, secrets, path, body, graceMs, signal } = options;
  const { timeoutMs } = endpoint;
  signal?.throwIfAborted();
  const controller = new AbortController();
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    controller.abort();
  }, timeoutMs);
  let grace: NodeJS.Timeout | undefined;
  const onAbort = () => {
    grace = setTimeout(() => controller.abort(), graceMs);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const started = performance.now();
  try {
    const response = await client.post(path, { body, signal: controller.signal }).asResponse();
    const text = await limitedText(response, MOST_ANSWER_BYTES);
    return { body: withoutSecrets(text, secrets), latencyMs: performance.now() - started };
  } catch (error) {
    if (isTimedOut) throw new CallFailure({ kind: 'timeout', message: `no answer after ${timeoutMs} ms` });
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** For one step, including the transfer of a whole file. */
const STEP_TIMEOUT_MS = 600_000;

export type TryStep = <T>(step: (request: { signal: AbortSignal; timeout: number }) => Promise<T>) => Promise<T>;

/** Runs the steps of a long job at an endpoint (a batch, a fine-tuning), each with its own retries. */
export function endpointSteps(options: {
  endpoint: Endpoint;
  random: Random;
  retry: z.input<typeof retrySchema>;
  signal: AbortSignal | null;
  env: Environment;
  /** What the user can do about a kind of failure; null where the advice is the same as for any call. */
  advice: (failure: { kind: CallFailure['kind']; said: string }) => string | null;
}): TryStep {
  const { endpoint, random, signal, env, advice } = options;
  const policy = retrySchema.parse(options.retry);
  const secrets = secretsOf({ endpoint, env });

  return async (step) => {
    const attempt = async () => {
      const timeout = AbortSignal.timeout(STEP_TIMEOUT_MS);
      try {
        return await step({
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
          timeout: STEP_TIMEOUT_MS,
        });
      } catch (error) {
        signal?.throwIfAborted();
        if (timeout.aborted) throw new CallFailure({ kind: 'timeout', message: `no end after ${STEP_TIMEOUT_MS} ms` });
        if (error instanceof z.ZodError) throw new CallFailure({ kind: 'malformed', message: z.prettifyError(error) });
        throw (await callFailureOf(error)) ?? error;
      }
    };
    try {
      return await withRetries({ attempt, policy, random, signal });
    } catch (error) {
      if (!(error instanceof RetriesEndedError)) throw error;
      const { failure, attempts } = error;
      const said = withoutSecrets(failure.message, secrets);
      const advised = advice({ kind: failure.kind, said });
      if (advised !== null) throw new ProviderError(`endpoint ${endpoint.name} (${endpoint.baseURL}) ${advised}`);
      throw providerErrorOf({ failure, attempts, endpoint, env, retryAfterCapMs: policy.retryAfterCapMs });
    }
  };
}
