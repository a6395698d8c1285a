import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { grouped } from '../../src/counted.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';

/** Characters of a thread's id. */
export const longestId = 256;

/** The answer to a request that is wrong or cannot be served now. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly statusCode: number;
  /** The place in the request, such as `posts.2.time`; null for the whole. */
  readonly field: string | null;

  constructor(statusCode: number, message: string, { field = null }: { field?: string | null } = {}) {
    super(message);
    this.statusCode = statusCode;
    this.field = field;
  }
}

const problemSchema = z.object({
  error: z.string().describe('what is wrong, the value seen, and what to do'),
  field: z.string().nullable().describe('the place in the request, such as posts.2.time'),
});

const said: Readonly<Record<number, string>> = {
  400: 'The request is not what this asks for.',
  401: 'The bearer token is missing or wrong.',
  403: 'The server answers programs on its own machine only.',
  404: 'There is no such model or thread.',
  408: 'The request did not arrive in time.',
  409: 'The posts repeat ids, or are not in the order that is read.',
  413: 'The body is too large.',
  414: 'The address is too long.',
  415: 'The body is of another kind than this reads.',
  500: 'A defect of the server; its log names the request.',
  503: 'Not now: a bundle is being loaded, the store of threads does not answer, or is full.',
};

/** Error answers for the OpenAPI document. Every route can give the first few. */
export function problems(...statuses: number[]) {
  const all = [400, 401, 403, 408, 500, ...statuses].sort();
  return Object.fromEntries(all.map((status) => [status, problemSchema.describe(said[status])]));
}

/** For failures that may pass. */
export function unavailable(message: string): HttpProblem {
  return new HttpProblem(503, message);
}

/** A message without the folders of the paths in it: callers need not know where a server keeps its files. */
export function withoutFolders(message: string): string {
  return message.replace(/[^\s"'`(]*\//g, '');
}

const gunzipped = promisify(gunzip);

/** @param mostBytes limit on an unpacked body */
function bodyTooLarge(mostBytes: number): HttpProblem {
  const most = `${grouped(mostBytes)} bytes (${mostBytes / 1e6} MB)`;
  return new HttpProblem(
    413,
    `the body, unpacked, has more than the ${most} that this server takes; send fewer posts or threads at a time, or start the server with a larger --max-body`,
    { field: 'body' },
  );
}

/**
 * Unpacks a body of bounded size, so that a small request cannot fill the memory.
 * @throws HttpProblem 415 for another encoding than gzip, 413 for a large body, 400 for a damaged one
 */
async function unpackedBody(body: Buffer, { headers, routeOptions }: FastifyRequest): Promise<Buffer> {
  const field = 'content-encoding';
  const encoding = headers[field]?.trim().toLowerCase();
  const mostBytes = routeOptions.bodyLimit;
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new HttpProblem(
      415,
      `bodies packed with ${JSON.stringify(encoding)} are not read; send gzip, or the body as it is`,
      { field },
    );
  try {
    return await gunzipped(body, { maxOutputLength: mostBytes });
  } catch (error) {
    if (error instanceof RangeError) throw bodyTooLarge(mostBytes);
    throw new HttpProblem(400, 'the body is said to be gzip and is not, or was cut off', { field });
  }
}

/** Accepts JSON, gzipped or not, and nothing else. */
export function jsonBodies(app: Pick<FastifyInstance, 'removeAllContentTypeParsers' | 'addContentTypeParser'>): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    jsonBody(await unpackedBody(body, request)),
  );
}

/**
 * The value of a body; undefined for an empty one, because many clients announce JSON with every request.
 * @throws HttpProblem (400) for text that is not UTF-8, which would be decided with other characters, or not JSON
 */
function jsonBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  const isText = isUtf8(body);
  const value = isText ? jsonOrUndefined(new TextDecoder().decode(body)) : undefined;
  if (value !== undefined) return value;
  throw new HttpProblem(400, isText ? 'the body is not JSON' : 'the body is not UTF-8, which JSON is written in', {
    field: 'body',
  });
}

/** Converts any error into the answer for the caller. */
export function problemOf(
  error: Error & Partial<Pick<FastifyError, 'statusCode' | 'validation' | 'validationContext' | 'code'>>,
  { mostBytes }: { mostBytes: number },
) {
  if (error instanceof HttpProblem) return error;
  if (error instanceof InputError) return new HttpProblem(400, withoutFolders(error.message));
  // A policy that queries language models while it reads: the request can be sent again.
  if (error instanceof ProviderError) return unavailable(withoutFolders(error.message));
  const { statusCode = 500, validation, validationContext } = error;
  if (validation !== undefined && validation.length > 0) {
    // An unknown key comes first: where `txt` stands for `text`, that says more than that `text` is missing.
    const unknown = validation.find(({ keyword }) => keyword === 'unrecognized_keys');
    const { instancePath, message = 'is not what is asked for', params } = unknown ?? validation[0];
    const [unknownKey] = unknown !== undefined && Array.isArray(params.keys) ? params.keys : [];
    const path = [...instancePath.split('/'), unknownKey ?? ''].filter((part) => part !== '');
    // Fields of the body go without saying.
    const context = path.length === 0 || validationContext !== 'body' ? [validationContext ?? 'body'] : [];
    const field = [...context, ...path].join('.');
    const problem = message.replace(/^Invalid input: expected (.*), received undefined$/, 'is missing; expected $1');
    return new HttpProblem(400, `${field}: ${problem}`, { field });
  }
  if (statusCode === 413) return bodyTooLarge(mostBytes);
  const messages: Readonly<Record<number, string>> = {
    414: `the address is too long; the id of a thread has at most ${longestId} characters`,
    415: 'the body must be JSON, with the content type application/json',
  };
  const message = statusCode < 500 ? error.message : 'this is a defect of the server; its log names the place';
  const field = statusCode === 415 ? 'content-type' : null;
  return new HttpProblem(Math.min(statusCode, 500), messages[statusCode] ?? message, { field });
}
