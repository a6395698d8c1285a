import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { grouped } from '../../src/counted.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { HttpProblem } from './http-problem.ts';

const gunzipped = promisify(gunzip);

/** @param mostBytes limit on an unpacked body */
export function bodyTooLarge(mostBytes: number): HttpProblem {
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

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The value of a body; undefined for an empty one, because many clients announce JSON with every request.
 * @throws HttpProblem (400) for text that is not UTF-8, which would be decided with other characters, or not JSON
 */
function jsonBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new HttpProblem(400, 'the body is not UTF-8, which JSON is written in', { field: 'body' });
  }
  const value = jsonOrUndefined(text);
  if (value === undefined) throw new HttpProblem(400, 'the body is not JSON', { field: 'body' });
  return value;
}
