import { InputError } from '../../src/errors.ts';

/** The environment, or a stand-in of the same shape. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A key or token. It goes into request headers only: it is never written, logged or put into an error. */
export interface Secret {
  /** The environment variable that holds it. */
  readonly variable: string;
  readonly value: string;
}

/** People give servers without keys a dummy such as "EMPTY" or "ollama". Masking those would damage what models say. */
const SHORTEST_SECRET = 8;

/**
 * The secret in an environment variable; null where it is not set.
 * @param options.mayNameScheme a word before the key, as in `Basic …` and `Api-Key …`, is part of the value
 * @throws InputError where it holds what no header can, without quoting it
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
 * A text from a service with every secret replaced by the name of its variable, since some services quote what they
 * were sent: as it is, or escaped for JSON, for an address or for HTML. Values of fewer than eight characters are no
 * secrets and stay.
 */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  return secrets
    .filter(({ value }) => value.length >= SHORTEST_SECRET)
    .reduce((masked, secret) => {
      const name = `[value of ${secret.variable}]`;
      return spellingsOf(secret.value).reduce((rest, spelling) => rest.replaceAll(spelling, name), masked);
    }, text);
}

/** A value parsed from JSON, with every secret in its texts and keys replaced. */
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
  // Some encoders of JSON also escape what would be markup in a web page.
  const inCautiousJson = inJson.replace(/[<>&='+]/g, (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`);
  const inEscapedJson = inJson.replaceAll('/', '\\/');
  const spellings = [value, inJson, inCautiousJson, inEscapedJson, encodeURIComponent(value), inHtml];
  return [...new Set(spellings)].sort((one, other) => other.length - one.length);
}
