import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { diskError, InputError } from '../../src/errors.ts';

export type Access =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'local' }
  | { readonly kind: 'anybody' };

const shortestToken = 16;

/**
 * The access rule of a server at this address.
 * @param options.token value of the environment variable `variable`
 * @throws InputError for a reachable address without a token, unless `noAuth`
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

/** Compares the token of an `authorization` header in constant time. */
export function hasToken(header: string | undefined, token: string): boolean {
  const bearer = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(bearer), digest(token));
}

/**
 * True if a request names this machine as its host. A page in a browser can point a name of its own at 127.0.0.1, and
 * would reach the server under that name.
 */
export function namesThisMachine(hostHeader: string | undefined): boolean {
  const host = hostHeader?.replace(/:\d+$/, '');
  return host !== undefined && isLoopback(host);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function listenError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const elsewhere = `${host} is no address of this machine; correct --host`;
  const problems: Readonly<Record<string, string>> = {
    EADDRINUSE: `something listens at ${host}:${port} already; stop it, or choose another --port`,
    EADDRNOTAVAIL: elsewhere,
    ENOTFOUND: elsewhere,
  };
  if (problems[code] !== undefined) return new InputError(problems[code]);
  return diskError(error, { what: `listen at ${host}:${port}` });
}
