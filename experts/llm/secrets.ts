import { InputError } from '../../src/errors.ts';

/** The environment, or a stand-in of the same shape. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A key or token. It appears in request headers only: never in files, logs or errors. */
export interface Secret {
  /** The environment variable that holds it. */
  readonly variable: string;
  readonly value: string;
}

/** Servers without keys get dummies such as "EMPTY" or "ollama". Masking these would damage answers. */
const SHORTEST_SECRET = 8;

/**
 * The secret in an environment variable; null if it is not set.
 * @param options.mayNameScheme whether a word before the key, as in `Basic …` and `Api-Key …`, is part of the value
 * @throws InputError, without quoting it, for a value that no header can hold
 */
export function secretIn(options: { variable: string; env: Environment; mayNameScheme?: boolean }): Secret | null {
  const { variable, env, mayNameScheme = false } = options;
  const value = env[variable]?.trim() || null;
  if (value === null) return null;
  // Checked here, because fetch would refuse the header with a message that quotes the key.
  if (!(mayNameScheme ? /^(?:[\w-]+ )?[\x21-\x7e]+$/ : /^[\x21-\x7e]+$/).test(value))
    throw new InputError(
      `the environment variable ${variable} holds characters that no key has (spaces, line breaks or letters outside ` +
        'ASCII); set it to the key alone',
    );
  return { variable, value };
}

/**
 * Replaces every secret in a service's text by the name of its variable, because some services quote requests: as they
 * are, or escaped for JSON, an address or HTML. Values of fewer than eight characters are no secrets.
 */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  return secrets
    .filter(({ value }) => value.length >= SHORTEST_SECRET)
    .reduce((masked, secret) => {
      const name = `[value of ${secret.variable}]`;
      return spellingsOf(secret.value).reduce((rest, spelling) => rest.replaceAll(spelling, name), masked);
    }, text);
}

/** Replaces every secret in the texts and keys of a JSON value. */
export function jsonWithoutSecrets(value: unknown, secrets: readonly Secret[]): unknown {
  if (typeof value === 'string') return withoutSecrets(value, secrets);
  if (Array.isArray(value)) return value.map((each) => jsonWithoutSecrets(each, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [withoutSecrets(key, secrets), jsonWithoutSecrets(each, secrets)]),
  );
}

/** Longest first, so that no spelling is cut by a shorter one. */
function spellingsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const inHtml = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  // Some encoders of JSON also escape characters of HTML.
  const inCautiousJson = inJson.replace(/[<>&='+]/g, (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`);
  const inEscapedJson = inJson.replaceAll('/', '\\/');
  const spellings = [value, inJson, inCautiousJson, inEscapedJson, encodeURIComponent(value), inHtml];
  return [...new Set(spellings)].sort((one, other) => other.length - one.length);
}
