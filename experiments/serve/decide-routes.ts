import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { wholePost } from '../judging/judge-posts.ts';
import { type DecidedThread, threadDecider } from '../stop-agent/decide.ts';
import { jsonBodies } from './json-bodies.ts';
import type { Models } from './models.ts';
import { decidedSchema, modelQuery, operations, problems, wholeThreadsSchema } from './schemas.ts';

/** Whole threads: nothing is kept between requests, and deadlines go by the times of the posts. */
export function decideRoutes({ models }: { models: Models }): FastifyPluginAsyncZod {
  const about = operations('threads');
  return async (app) => {
    jsonBodies(app);
    app.post(
      '/v1/decide',
      {
        schema: {
          ...about('decide', 'Decide whole threads'),
          description:
            'One decision per thread, in their order, as `earshot decide` prints them. Ids are optional. Nothing is kept.',
          querystring: modelQuery(models.names).extend({
            alerts: z.enum(['true', 'false']).default('false').describe('only the decisions that raise an alert'),
          }),
          body: wholeThreadsSchema,
          response: { 200: z.object({ decisions: z.array(decidedSchema) }), ...problems(404, 413, 415, 503) },
        },
      },
      async ({ query, body }) => {
        const decide = threadDecider(models.chosen(query.model).policy);
        const decisions: DecidedThread[] = [];
        for (const [index, { id, posts }] of body.threads.entries())
          decisions.push(
            await decide({
              id: id ?? String(index + 1),
              event: null,
              veracity: null,
              rumor: null,
              posts: posts.map(wholePost),
            }),
          );
        return { decisions: query.alerts === 'true' ? decisions.filter(({ alert }) => alert === true) : decisions };
      },
    );
  };
}
