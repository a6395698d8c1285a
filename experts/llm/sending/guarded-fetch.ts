import { InputError } from '../../../src/errors.ts';
import { CallFailure } from '../call-failure.ts';
import type { Environment } from '../secrets.ts';

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

const REDIRECTS = [301, 302, 303, 307, 308];
const MOST_REDIRECTS = 5;

/** Hosts on this machine are never reached through a proxy. */
const OWN_HOSTS = 'localhost,127.0.0.1,[::1]';

const dispatchers = new WeakMap<Environment, Dispatcher>();

/**
 * Sends requests through the proxy of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, if any. By default fetch gives up
 * after 300 s of silence, which a large model on a small machine may need; here only the caller's timer decides.
 * @throws InputError for an unusable proxy address, which is not quoted, because it may contain a password
 */
export async function dispatcherOf(env: Environment): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await import('undici');
  const cached = dispatchers.get(env);
  if (cached) return cached;
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY ?? '';
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY ?? '';
  const named = env.no_proxy ?? env.NO_PROXY ?? '';
  const noProxy = named.trim() === '*' ? '*' : `${named},${OWN_HOSTS}`;
  for (const [variable, address] of Object.entries({ HTTP_PROXY: httpProxy, HTTPS_PROXY: httpsProxy }))
    if (address !== '' && !/^https?:$/.test(URL.canParse(address) ? new URL(address).protocol : ''))
      throw new InputError(
        `the environment variable ${variable} holds no http(s) address of a proxy; set it to one such as ` +
          'http://proxy.example:3128, or unset it',
      );
  const patient = { headersTimeout: 0, bodyTimeout: 0 };
  const hasProxy = httpProxy !== '' || httpsProxy !== '';
  const agent = hasProxy ? new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy, ...patient }) : new Agent(patient);
  // The same class, but Node's types come from another release of undici.
  const dispatcher = agent as unknown as Dispatcher;
  dispatchers.set(env, dispatcher);
  return dispatcher;
}

/**
 * A `fetch` that sends no secret to another host. Only requests without a body (GET) follow redirects: within the
 * origin with their headers, elsewhere without any.
 * @returns the redirect itself for other requests, and after five redirects
 */
export async function guardedFetch(url: string | URL, init: RequestInit): Promise<Response> {
  let address = new URL(url);
  let headers = init.headers ?? {};
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(address, { ...init, headers, redirect: 'manual' });
    const target = redirectOf(response, address);
    if (target === null || (init.method ?? 'GET') !== 'GET' || redirects === MOST_REDIRECTS) return response;
    await response.body?.cancel();
    if (target.origin !== address.origin) headers = {};
    address = target;
  }
}

/** The target of a redirect; null for any other response. */
export function redirectOf(response: Pick<Response, 'status' | 'headers'>, from: URL | string): URL | null {
  if (!REDIRECTS.includes(response.status)) return null;
  const location = response.headers.get('location') ?? '';
  return URL.canParse(location, String(from)) ? new URL(location, from) : null;
}

/** The text of a response. @throws CallFailure of kind `too-large` beyond `mostBytes` */
export async function limitedText(response: Response, mostBytes: number): Promise<string> {
  const decoder = decoderOf(response);
  let bytes = 0;
  let text = '';
  // Leaving the loop early cancels the rest of the transfer.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes)
      throw new CallFailure({
        kind: 'too-large',
        message: `the answer is larger than ${mostBytes / 1e6} MB`,
      });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The decoder for the character set that the response names; UTF-8, the encoding of JSON, for an unknown one. */
function decoderOf({ headers }: Response) {
  const charset = /charset="?([^\s";]+)/i.exec(headers.get('content-type') ?? '')?.[1];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}
