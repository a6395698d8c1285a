import { z } from 'zod';
import { InputError } from '../../src/errors.ts';

const price = z.number().nonnegative().default(0);

/** An OpenAI-compatible service, and how to ask one of its models. */
export const endpointSchema = z
  .strictObject({
    name: z.string().min(1).describe('what messages, summaries and reports call this endpoint'),
    baseURL: z
      .url({ protocol: /^https?$/, error: 'must be an http(s) address, such as http://localhost:8000/v1' })
      .refine((url) => !hasCredentials(url), {
        error:
          'must hold no user name, password or query; put the key into an environment variable and name it in apiKeyEnv',
      })
      .transform((url) => url.replace(/\/+$/, ''))
      .describe('where the chat-completions protocol is spoken, usually ending in /v1'),
    model: z.string().min(1).describe('the name of the model at the endpoint'),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not the key itself')
      .nullable()
      .default(null)
      .describe('name of the environment variable that holds the key; null for endpoints without keys'),
    temperature: z.number().min(0).max(2).nullable().default(0).describe('null: not sent; some models refuse it'),
    topP: z.number().gt(0).max(1).nullable().default(null).describe('nucleus sampling; null: not sent'),
    seed: z.number().int().nullable().default(null).describe('sample i is sent with seed + i; null: not sent'),
    maxTokens: z.number().int().positive().nullable().default(1024).describe('longest answer; null: not sent'),
    maxTokensField: z
      .enum(['max_tokens', 'max_completion_tokens'])
      .default('max_tokens')
      .describe('reasoning models of OpenAI want max_completion_tokens'),
    logprobs: z
      .enum(['auto', 'on', 'off'])
      .default('auto')
      .describe('token log-probabilities: auto asks for them and does without if refused; on fails without them'),
    topLogprobs: z.number().int().min(1).max(20).default(20).describe('alternatives asked for at each token'),
    extraBody: z
      .record(z.string(), z.json())
      .default({})
      .describe('further fields of the request body; they are part of annotation keys, so never put a secret here'),
    prices: z
      .strictObject({
        inputPerMillion: price,
        cachedInputPerMillion: price.nullable().default(null),
        outputPerMillion: price,
      })
      .prefault({})
      .describe('money for a million tokens; cached input costs as much as other input unless stated'),
    contextLength: z.number().int().positive().nullable().default(null).describe('most tokens that the model reads'),
    timeoutMs: z
      .number()
      .int()
      .positive()
      .max(3_600_000)
      .default(120_000)
      .describe('for one request, including the answer'),
    concurrency: z
      .strictObject({
        initial: z.number().int().positive().default(8),
        min: z.number().int().positive().default(1),
        max: z.number().int().positive().default(64),
      })
      .refine(({ initial, min, max }) => min <= initial && initial <= max, 'must satisfy min <= initial <= max')
      .prefault({})
      .describe('requests under way at the same time; adapts between min and max'),
  })
  .describe('an OpenAI-compatible endpoint');

export type Endpoint = z.infer<typeof endpointSchema>;
export type EndpointInput = z.input<typeof endpointSchema>;

/**
 * Checks an endpoint as the user wrote it and fills in the defaults.
 * @throws InputError that names every wrong setting
 */
export function parseEndpoint(input: EndpointInput): Endpoint {
  const parsed = endpointSchema.safeParse(input);
  if (!parsed.success) throw new InputError(`the endpoint is not usable:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/**
 * The settings of an endpoint that can change an answer, for a detector's `options` and thus for annotation keys.
 * Names, keys, prices, time limits and concurrency cannot, so changing them makes nobody pay twice.
 */
export function answerRelevantOptions(endpoint: Endpoint): Record<string, unknown> {
  const { baseURL, model, temperature, topP, seed, maxTokens, logprobs, topLogprobs, extraBody } = endpoint;
  return { baseURL, model, temperature, topP, seed, maxTokens, logprobs, topLogprobs, extraBody };
}

function hasCredentials(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password, search } = new URL(url);
  return username !== '' || password !== '' || search !== '';
}

/** The environment, or a stand-in of the same shape. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The endpoint's key, or null. It goes into request headers only: it is never written, logged or put into an error. */
export function apiKeyOf(options: { endpoint: Endpoint; env: Environment }): string | null {
  const { apiKeyEnv } = options.endpoint;
  if (apiKeyEnv === null) return null;
  const key = options.env[apiKeyEnv]?.trim() || null;
  // Checked here, because the header would be refused with a message that quotes the key.
  if (key !== null && !/^[\x21-\x7e]+$/.test(key))
    throw new InputError(
      `the environment variable ${apiKeyEnv} holds characters that no key has (spaces, line breaks or letters outside ` +
        'ASCII); set it to the key alone',
    );
  return key;
}

/** A server's message without the key, which some servers quote. */
export function withoutKey(options: { text: string; key: string | null; endpoint: Endpoint }): string {
  const { text, key, endpoint } = options;
  if (key === null) return text;
  return text.replaceAll(key, `[value of ${endpoint.apiKeyEnv}]`);
}

/** One sentence on what to do about a refused key. */
export function keyAdvice(options: { endpoint: Endpoint; key: string | null }): string {
  const { apiKeyEnv, name } = options.endpoint;
  if (apiKeyEnv === null)
    return `endpoint ${name} wants a key: put it into an environment variable and name that variable in apiKeyEnv`;
  if (options.key === null)
    return `endpoint ${name} wants a key: the environment variable ${apiKeyEnv} is not set, so set it to the key`;
  return `endpoint ${name} refused the key in the environment variable ${apiKeyEnv}: check its value and what it may use`;
}
