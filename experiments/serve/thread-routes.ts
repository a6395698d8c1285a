import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { jsonOrUndefined } from '../../src/json.ts';
import type { GrowingThreads } from './growing-threads.ts';
import { HttpProblem } from './http-problem.ts';
import type { ServerMetrics } from './metrics.ts';
import type { Models } from './models.ts';
import { additionSchema, modelQuery, operations, problems, threadParams, threadViewSchema } from './schemas.ts';
import { packingOf, unpackedBody } from './unpacked-body.ts';

/** Threads that come post by post. */
export function threadRoutes(options: {
  models: Models;
  threads: GrowingThreads;
  metrics: ServerMetrics;
}): FastifyPluginAsyncZod {
  const { models, threads, metrics } = options;
  const about = operations('threads');
  const querystring = modelQuery(models.names);
  const found = <T>(thread: T | null, id: string): T => {
    if (thread !== null) return thread;
    throw new HttpProblem(
      404,
      `there is no open thread ${JSON.stringify(id)}; it was never begun, was deleted, or has expired`,
      {
        field: 'id',
      },
    );
  };
  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
      jsonBody(await unpackedBody(body, packingOf(request))),
    );
    app.post(
      '/v1/threads/:id/posts',
      {
        schema: {
          ...about('addPosts', 'Add the next posts of a thread'),
          description:
            'One post or many, as they come. The answer gives π(stop) at each and the decision; once stopped, the verdict of the detector. Posts are known by their ids, so a request that got no answer can be sent again.',
          params: threadParams,
          querystring,
          body: additionSchema,
          response: { 200: threadViewSchema, ...problems(404, 409, 413, 415, 503) },
        },
      },
      async ({ params, query, body }) => {
        const bundle = models.chosen(query.model);
        const view = await threads.add(bundle, { id: params.id, ...body });
        metrics.countPosts(view);
        return view;
      },
    );
    app.get(
      '/v1/threads/:id',
      {
        schema: {
          ...about('getThread', 'How far a thread is'),
          params: threadParams,
          querystring,
          response: { 200: threadViewSchema, ...problems(404, 503) },
        },
      },
      async ({ params, query }) => {
        const view = found(await threads.find(models.chosen(query.model), params.id), params.id);
        metrics.countPosts(view);
        return view;
      },
    );
    app.delete(
      '/v1/threads/:id',
      {
        schema: {
          ...about('deleteThread', 'Forget a thread'),
          params: threadParams,
          querystring,
          response: { 204: z.undefined().describe('It is forgotten.'), ...problems(404, 503) },
        },
      },
      async ({ params, query }, reply) => {
        const wasThere = await threads.delete(models.chosen(query.model), params.id);
        found(wasThere ? true : null, params.id);
        return reply.code(204).send(undefined);
      },
    );
  };
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
