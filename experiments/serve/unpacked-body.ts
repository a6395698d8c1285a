import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { HttpProblem } from './http-problem.ts';

const gunzipped = promisify(gunzip);

/**
 * A body as it was before its sender packed it.
 * @param options.encoding the header `content-encoding`; undefined for a body that comes as it is
 * @param options.mostBytes of the unpacked body, so that a small request cannot fill the memory
 * @throws HttpProblem 415 for another packing than gzip, 413 for a body that is too large, 400 for one that is damaged
 */
export async function unpackedBody(
  body: Buffer,
  { encoding, mostBytes }: { encoding: string | undefined; mostBytes: number },
): Promise<Buffer> {
  const field = 'content-encoding';
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new HttpProblem(
      415,
      `bodies packed with ${JSON.stringify(encoding)} are not read; send gzip, or the body as it is`,
      {
        field,
      },
    );
  try {
    return await gunzipped(body, { maxOutputLength: mostBytes });
  } catch (error) {
    if (error instanceof RangeError)
      throw new HttpProblem(413, `the body unpacks to more than the ${mostBytes} bytes that the server takes`, {
        field: 'body',
      });
    throw new HttpProblem(400, 'the body is said to be gzip and is not, or was cut off', { field });
  }
}

/** How the body of a request is packed, and how large it may be. */
export function packingOf({ headers, routeOptions }: FastifyRequest): {
  encoding: string | undefined;
  mostBytes: number;
} {
  return { encoding: headers['content-encoding']?.trim().toLowerCase(), mostBytes: routeOptions.bodyLimit };
}
