import { InputError } from '../../src/errors.ts';
import type { Endpoint } from './endpoint.ts';

/** The environment, or a stand-in of the same shape. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Only the header of a request ever holds the key; it is not written, logged or put into an error. */
export function apiKeyOf(options: { endpoint: Endpoint; env: Environment }): string | null {
  const { apiKeyEnv } = options.endpoint;
  if (apiKeyEnv === null) return null;
  const key = options.env[apiKeyEnv]?.trim() || null;
  // Checked here, because the header would refuse it with a message that quotes it.
  if (key !== null && !/^[\x21-\x7e]+$/.test(key))
    throw new InputError(
      `the environment variable ${apiKeyEnv} holds characters that no key has (spaces, line breaks or letters outside ` +
        'ASCII); set it to the key alone',
    );
  return key;
}

/** Servers quote keys in their complaints; this takes them out of a text again. */
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
