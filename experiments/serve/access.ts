import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { InputError } from '../../src/errors.ts';

/** Who may ask. */
export type Access =
  /** Whoever sends the token. */
  | { readonly kind: 'token'; readonly token: string }
  /** Programs on this machine. */
  | { readonly kind: 'local' }
  /** Anybody who reaches the address. */
  | { readonly kind: 'anybody' };

const shortestToken = 16;

/**
 * Who may ask a server at this address.
 * @param options.token the value of the environment variable `variable`
 * @throws InputError for an address that others can reach without a token, unless `noAuth` wants that
 */
export function accessAt(options: {
  host: string;
  token: string | undefined;
  variable: string;
  noAuth: boolean;
}): Access {
  const { host, token, variable, noAuth } = options;
  if (noAuth) return { kind: 'anybody' };
  if (token !== undefined && token !== '') {
    if (token.length < shortestToken || /[^\x21-\x7e]/.test(token))
      throw new InputError(
        `the token in ${variable} has ${token.length} characters; give at least ${shortestToken}, without spaces (openssl rand -hex 32 makes one)`,
      );
    return { kind: 'token', token };
  }
  if (isLoopback(host)) return { kind: 'local' };
  throw new InputError(
    `${host} can be reached from other machines; put a token into the environment variable ${variable}, or say --no-auth if something in front of the server asks who is calling`,
  );
}

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}

/** Whether the `authorization` header holds the token. Takes as long for a token that is nearly right as for any other. */
export function hasToken(header: string | undefined, token: string): boolean {
  const bearer = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(bearer), digest(token));
}

/**
 * Whether a request to a server without a token names this machine as its host. A page in a browser can let a name of its
 * own lead to 127.0.0.1, and would reach the server under that name.
 */
export function namesThisMachine(hostHeader: string | undefined): boolean {
  const host = hostHeader?.replace(/:\d+$/, '');
  return host !== undefined && isLoopback(host);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
