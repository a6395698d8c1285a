import type { FastifyInstance, FastifyRequest } from 'fastify';
import { jsonOrUndefined } from '../../src/json.ts';
import { HttpProblem } from './http-problem.ts';
import { packingOf, unpackedBody } from './unpacked-body.ts';

/** The routes of this instance take JSON, packed or not, and nothing else. */
export function jsonBodies(app: Pick<FastifyInstance, 'removeAllContentTypeParsers' | 'addContentTypeParser'>): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    jsonBody(await unpackedBody(body, packingOf(request))),
  );
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The value of a body, undefined for an empty one: many clients announce JSON with every request, also where they send none.
 * @throws HttpProblem (400) for what is not UTF-8, which would otherwise be decided with other characters, or not JSON
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
