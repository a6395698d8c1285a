import type OpenAI from 'openai';
import { z } from 'zod';
import { jsonOrUndefined } from '../../../src/json.ts';
import { CallFailure } from '../call-failure.ts';
import { credentialsOf, type Endpoint } from '../endpoint.ts';
import { type Environment, type Secret, withoutSecrets } from '../secrets.ts';
import { dispatcherOf, guardedFetch, limitedText, redirectOf } from './guarded-fetch.ts';
import { withinTime } from './retry.ts';

/** The `openai` client of an endpoint. It neither retries nor logs, and ignores OpenAI's environment variables. */
export async function endpointClient(options: { endpoint: Endpoint; env: Environment }): Promise<OpenAI> {
  const { endpoint, env } = options;
  const { apiKey, headers } = credentialsOf(options);
  const dispatcher = await dispatcherOf(env);
  // Loaded on demand, because most commands query no language model.
  const { default: Client } = await import('openai');
  return new Client({
    baseURL: endpoint.baseURL,
    // Local servers ignore the key, but the client requires one.
    apiKey: apiKey ?? 'no-key',
    defaultHeaders: headers,
    defaultQuery: endpoint.query,
    adminAPIKey: null,
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: 'off',
    // Our timeout fires first. The client's covers only the headers, and a body can trickle in for ever.
    timeout: endpoint.timeoutMs + 1000,
    fetch: async (url, init) => {
      const address = url instanceof Request ? url.url : url;
      const response = await guardedFetch(address, { ...init, dispatcher });
      if (response.ok) return response;
      if (response.status >= 400) return withWrappedError(response);
      await response.body?.cancel();
      throw redirectFailure(response, { source: new URL(address), baseURL: endpoint.baseURL });
    },
  });
}

/** Bytes of an error message that are read at most. */
const MOST_ERROR_BYTES = 1_000_000;
/** Bytes of an answer with its log-probabilities; a longer answer fails the call. */
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

/** The failure of a redirect, which names the right base address if it can be derived. */
function redirectFailure(response: Response, { source, baseURL }: { source: URL; baseURL: string }): CallFailure {
  const { status } = response;
  const path = source.pathname.slice(new URL(baseURL).pathname.replace(/\/$/, '').length);
  const target = redirectOf(response, source);
  const address = target === null ? 'nowhere' : `${target.origin}${target.pathname}`;
  const isMoved = address.endsWith(path) && address !== `${baseURL}${path}`;
  const advice = isMoved
    ? ': if you trust that address, make it the baseURL'
    : ', and no baseURL leads there: check it, and whether a login or a proxy stands before the endpoint';
  const shownAddress = isMoved ? address.slice(0, -path.length) : address;
  const message = `redirects to ${shownAddress} (status ${status}); neither posts nor keys follow a redirect${advice}`;
  return new CallFailure({ kind: 'redirect', status, message });
}

/**
 * Moves the message to where OpenAI's client expects it. Some servers (older vLLM, FastAPI, Ollama) put it elsewhere,
 * and the client would drop what reports a too long context or an unknown field.
 */
async function withWrappedError(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await limitedText(response, MOST_ERROR_BYTES);
  const json = jsonOrUndefined(text);
  // In any other form, such as Mistral's list of refused fields, the whole text is the message.
  const message = json === undefined ? null : (bareErrorSchema.safeParse(json).data ?? text);
  const bare = usualErrorSchema.safeParse(json).success ? null : message;
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
  signal?.throwIfAborted();
  const patience = new AbortController();
  let grace: NodeJS.Timeout | undefined;
  const onAbort = () => {
    grace = setTimeout(() => patience.abort(signal?.reason), graceMs);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const started = performance.now();
  try {
    return await withinTime({
      timeoutMs: endpoint.timeoutMs,
      signal: patience.signal,
      async work(signal) {
        const response = await client.post(path, { body, signal }).asResponse();
        const text = await limitedText(response, MOST_ANSWER_BYTES);
        return { body: withoutSecrets(text, secrets), latencyMs: performance.now() - started };
      },
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(grace);
    signal?.removeEventListener('abort', onAbort);
  }
}
