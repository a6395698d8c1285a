import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { pricesSchema } from './cost/prices.ts';
import { type Environment, type Secret, secretIn } from './secrets.ts';

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not the key itself');
const headerName = z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header, such as x-api-key');

/** The path of completions below the base address. */
export const COMPLETIONS_PATH = '/chat/completions';

/** An OpenAI-compatible service and the settings of one of its models. */
export const endpointSchema = z
  .strictObject({
    name: z.string().min(1).describe('what messages, summaries and reports call this endpoint'),
    baseURL: z
      .url({ protocol: /^https?$/, error: 'must be an http(s) address, such as http://localhost:8000/v1' })
      .refine((url) => !hasMoreThanPath(url), {
        error:
          'must hold no user name, password, query (?…) or fragment (#…); put the key into an environment variable and name it in ' +
          'apiKeyEnv, and other parameters into query',
      })
      .transform((url) => url.replace(/\/+$/, ''))
      .refine((url) => !url.endsWith(COMPLETIONS_PATH), {
        error: `must not end in ${COMPLETIONS_PATH}, which is added to it; leave that out`,
      })
      .describe('where the chat-completions protocol is spoken, usually ending in /v1'),
    model: z.string().min(1).describe('the name of the model at the endpoint'),
    provider: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'who answers; stands in annotation keys in place of the address, so endpoints of one provider and model share answers; ' +
          'null: host, port and path of baseURL, where all addresses of this machine are localhost',
      ),
    apiKeyEnv: variableName
      .nullable()
      .default(null)
      .describe('name of the environment variable that holds the key; null for endpoints without keys'),
    headers: z
      .record(headerName, z.string())
      .refine((headers) => !Object.keys(headers).some(isSecretHeader), {
        error: 'must hold no keys; put the key into an environment variable and name it in headersEnv',
      })
      .default({})
      .describe(
        'further headers, such as those that a gateway routes by; they are part of annotation keys, so never put a secret here',
      ),
    headersEnv: z
      .record(headerName, variableName)
      .default({})
      .describe(
        "headers that hold secrets: the header's name and the environment variable with its value, such as api-key for Azure; " +
          'with these and without apiKeyEnv no Authorization header is sent but one named here, such as Basic …',
      ),
    query: z
      .record(z.string().min(1), z.string())
      .default({})
      .describe(
        "query parameters of every request, such as Azure's api-version; part of annotation keys, never a secret",
      ),
    temperature: z.number().min(0).max(2).nullable().default(0).describe('null: not sent; some models refuse it'),
    topP: z.number().gt(0).max(1).nullable().default(null).describe('nucleus sampling; null: not sent'),
    seed: z.number().int().nullable().default(null).describe('sample i is sent with seed + i; null: not sent'),
    maxTokens: z.number().int().positive().nullable().default(1024).describe('longest answer; null: not sent'),
    maxTokensField: z
      .enum(['max_tokens', 'max_completion_tokens'])
      .default('max_tokens')
      .describe('reasoning models of OpenAI want max_completion_tokens'),
    reasoningEffort: z
      .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])
      .nullable()
      .default(null)
      .describe('how long a reasoning model thinks (reasoning_effort); null: not sent, the model decides'),
    logprobs: z
      .enum(['auto', 'on', 'off'])
      .default('auto')
      .describe('token log-probabilities: auto asks for them and does without if refused; on fails without them'),
    topLogprobs: z.number().int().min(1).max(20).default(20).describe('alternatives asked for at each token'),
    extraBody: z
      .record(z.string(), z.json())
      .default({})
      .describe('further fields of the request body; they are part of annotation keys, so never put a secret here'),
    prices: pricesSchema
      .nullable()
      .default(null)
      .describe(
        'money per million tokens; null: those of the price list that ships with Earshot, or of the file that EARSHOT_PRICES names, if it has the model',
      ),
    contextLength: z.number().int().positive().nullable().default(null).describe('most tokens that the model reads'),
    timeoutMs: z
      .number()
      .int()
      .positive()
      .max(3_600_000)
      .default(120_000)
      .describe('for one request, including the answer'),
    requestsPerMinute: z
      .number()
      .positive()
      .nullable()
      .default(null)
      .describe('most requests per minute, evenly spaced; null: no limit'),
    tokensPerMinute: z
      .number()
      .positive()
      .nullable()
      .default(null)
      .describe('most input and output tokens per minute; null: no limit'),
    concurrency: z
      .int()
      .min(1)
      .default(64)
      .describe('most requests under way at the same time; how many there are adapts to the endpoint'),
  })
  .describe('an OpenAI-compatible endpoint');

export type Endpoint = z.infer<typeof endpointSchema>;
export type EndpointInput = z.input<typeof endpointSchema>;

/**
 * The settings of an endpoint that can change an answer, for a detector's `options` and thus annotation keys. Names,
 * addresses of one provider, keys, prices, time limits and concurrency cannot, so changing them costs nothing. Nor can
 * the length limit, if a cut answer is invalid, or log-probabilities: detectors that depend on these add them.
 */
export function answerRelevantOptions(endpoint: Endpoint): Record<string, unknown> {
  const { model, temperature, topP, seed, extraBody } = endpoint;
  const { headers, query, reasoningEffort } = endpoint;
  return {
    provider: endpoint.provider ?? providerAt(endpoint.baseURL),
    model,
    temperature,
    topP,
    seed,
    extraBody,
    // Left out if empty, so that older annotations keep their keys.
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(Object.keys(query).length > 0 && { query }),
    ...(reasoningEffort !== null && { reasoningEffort }),
  };
}

/** Names of this machine. */
const THIS_MACHINE = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0)$/;

/** The address without the parts that do not identify a provider: scheme, this machine's name, protocol version. */
function providerAt(baseURL: string): string {
  const { hostname, port, pathname } = new URL(baseURL);
  const host = THIS_MACHINE.test(hostname) ? 'localhost' : hostname;
  return `${host}${port && `:${port}`}${pathname.replace(/\/(?:v1)?\/*$/, '')}`;
}

function isSecretHeader(name: string): boolean {
  return /authorization|cookie|token|secret|api-?key/i.test(name);
}

function hasMoreThanPath(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username !== '' || password !== '' || /[?#]/.test(url);
}

/** All secrets that requests to the endpoint carry. */
export function secretsOf(options: { endpoint: Endpoint; env: Environment }): Secret[] {
  const { apiKeyEnv, headersEnv } = options.endpoint;
  const { env } = options;
  const ofHeaders = Object.values(headersEnv).flatMap((variable) => {
    const secret = secretIn({ variable, env, mayNameScheme: true });
    // Services may quote it with or without its scheme.
    return secret === null ? [] : [secret, { variable, value: secret.value.replace(/^.* /, '') }];
  });
  const key = apiKeyEnv === null ? null : secretIn({ variable: apiKeyEnv, env });
  return [...(key === null ? [] : [key]), ...ofHeaders];
}

/**
 * The key of an endpoint, null without one, and its headers beyond those of the protocol; a header of null is removed.
 * @throws InputError if a variable of `apiKeyEnv` or `headersEnv` is not set
 */
export function credentialsOf(options: { endpoint: Endpoint; env: Environment }): {
  readonly apiKey: string | null;
  readonly headers: Record<string, string | null>;
} {
  const { endpoint, env } = options;
  const { name, headers, headersEnv, apiKeyEnv } = endpoint;
  const secretOf = (variable: string, { what, mayNameScheme }: { what: string; mayNameScheme: boolean }) => {
    const secret = secretIn({ variable, env, mayNameScheme });
    if (secret !== null) return secret.value;
    throw new InputError(
      `endpoint ${name} takes ${what} from the environment variable ${variable}, which is not set; set it`,
    );
  };
  const secret = Object.entries(headersEnv).map(([header, variable]) => [
    header,
    secretOf(variable, { what: `the header ${header}`, mayNameScheme: true }),
  ]);
  const withoutBearer = apiKeyEnv === null && secret.length > 0 ? { authorization: null } : {};
  return {
    apiKey: apiKeyEnv === null ? null : secretOf(apiKeyEnv, { what: 'its key', mayNameScheme: false }),
    headers: { ...withoutBearer, ...headers, ...Object.fromEntries(secret) },
  };
}

/** The remedy for a refused key, as one sentence. */
export function keyAdvice({ apiKeyEnv, name }: Endpoint): string {
  return apiKeyEnv === null
    ? `endpoint ${name} wants a key: put it into an environment variable and name that variable in apiKeyEnv`
    : `endpoint ${name} refused the key in the environment variable ${apiKeyEnv}: check its value and what it may use`;
}
