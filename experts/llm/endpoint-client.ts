import OpenAI, { type ClientOptions } from 'openai';
import { Agent } from 'undici';
import { z } from 'zod';
import { jsonOrUndefined } from '../../src/json.ts';
import { apiKeyOf, type Environment } from './api-key.ts';
import type { Endpoint } from './endpoint.ts';

type Dispatcher = NonNullable<NonNullable<ClientOptions['fetchOptions']>['dispatcher']>;

/** Fetch gives up after 300 s of silence by default, which a large model on a small machine needs. Our timer decides. */
const patient = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** The `openai` client for an endpoint. It neither retries nor logs, and takes nothing from OpenAI's own variables. */
export function endpointClient(options: { endpoint: Endpoint; env: Environment }): OpenAI {
  const { endpoint } = options;
  return new OpenAI({
    baseURL: endpoint.baseURL,
    // Local servers ignore the key, but the client insists on one.
    apiKey: apiKeyOf(options) ?? 'no-key',
    adminAPIKey: null,
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: 'off',
    // Ours ends sooner; the client's stops at the headers, and a body can trickle for ever.
    timeout: endpoint.timeoutMs + 1000,
    // The same class, described twice: Node's types bundle undici's of another release.
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      return response.ok ? response : withWrappedError(response);
    },
    fetchOptions: { dispatcher: patient as unknown as Dispatcher },
  });
}

const usualErrorSchema = z.object({ error: z.looseObject({ message: z.string() }) });
const bareErrorSchema = z.union([
  z.object({ message: z.string() }).transform(({ message }) => message),
  z
    .object({ detail: z.unknown() })
    .transform(({ detail }) => (typeof detail === 'string' ? detail : JSON.stringify(detail))),
  z.object({ error: z.string() }).transform(({ error }) => error),
]);

/**
 * Servers that put the message elsewhere than OpenAI (older vLLM, FastAPI, Ollama) would be understood as silent by the
 * client, and the message is how a context that is too long, or a field that is not known, is told.
 */
async function withWrappedError(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  const json = jsonOrUndefined(text);
  const bare = usualErrorSchema.safeParse(json).success ? null : (bareErrorSchema.safeParse(json).data ?? null);
  return new Response(bare === null ? text : JSON.stringify({ error: { message: bare } }), { status, headers });
}
