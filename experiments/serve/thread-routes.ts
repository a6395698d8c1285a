import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { wholePost } from '../../checkpoints/policy/policy-post.ts';
import { type ThreadDecision, threadDecider, threadDecisionSchema } from '../stop-agent/decide.ts';
import type { GrowingThreads } from './growing-threads.ts';
import { HttpProblem } from './http-problem.ts';
import type { ServerMetrics } from './metrics.ts';
import type { Models } from './models.ts';
import {
  additionSchema,
  modelQuery,
  operations,
  problems,
  threadParams,
  threadViewSchema,
  wholeThreadsSchema,
} from './schemas.ts';

/** Routes for threads that grow post by post. */
export function threadRoutes(options: {
  models: Models;
  threads: GrowingThreads;
  metrics: ServerMetrics;
}): FastifyPluginAsyncZod {
  const { models, threads, metrics } = options;
  const about = operations('threads');
  const querystring = modelQuery(models.names);
  const of = { params: threadParams, querystring };
  return async (app) => {
    const added = {
      ...about('addPosts', 'Add the next posts of a thread'),
      description:
        'One post or many, as they come. The answer holds the score at each and the decision; once stopped, the prediction of the detector. Posts are known by their ids, so a request that got no answer can be sent again.',
      ...of,
      body: additionSchema,
      response: { 200: threadViewSchema, ...problems(404, 409, 413, 415, 503) },
    };
    app.post('/v1/threads/:id/posts', { schema: added }, async ({ params, query, body }) => {
      const view = await threads.add(models.chosen(query.model), { id: params.id, ...body });
      metrics.countPosts(view);
      return view;
    });
    const read = {
      ...about('getThread', 'How far a thread is'),
      ...of,
      response: { 200: threadViewSchema, ...problems(404, 503) },
    };
    app.get('/v1/threads/:id', { schema: read }, async ({ params, query }) => {
      const view = existing(await threads.find(models.chosen(query.model), params.id), params.id);
      metrics.countPosts(view);
      return view;
    });
    const deleted = {
      ...about('deleteThread', 'Forget a thread'),
      ...of,
      response: { 204: z.undefined().describe('It is forgotten.'), ...problems(404, 503) },
    };
    app.delete('/v1/threads/:id', { schema: deleted }, async ({ params, query }, reply) => {
      const wasThere = await threads.delete(models.chosen(query.model), params.id);
      existing(wasThere ? true : null, params.id);
      return reply.code(204).send(undefined);
    });
  };
}

/** @throws HttpProblem (404) for null */
function existing<T>(thread: T | null, id: string): T {
  if (thread !== null) return thread;
  const problem = `there is no open thread ${JSON.stringify(id)}; it was never begun, was deleted, or has expired`;
  throw new HttpProblem(404, problem, { field: 'id' });
}

/** Routes for whole threads, without state. Deadlines follow the times of the posts. */
export function decideRoutes({ models }: { models: Models }): FastifyPluginAsyncZod {
  const about = operations('threads');
  return async (app) => {
    app.post(
      '/v1/decide',
      {
        schema: {
          ...about('decide', 'Decide whole threads'),
          description:
            'One decision per thread, in their order, as `earshot decide` prints them. Threads that the policy learnt from are left out. Ids are optional. Nothing is kept.',
          querystring: modelQuery(models.names).extend({
            alerts: z.enum(['true', 'false']).default('false').describe('only the decisions that raise an alert'),
            includeTrained: z
              .enum(['true', 'false'])
              .default('false')
              .describe('keep threads that the policy learnt from, known by their id and claim'),
          }),
          body: wholeThreadsSchema,
          response: {
            200: z.object({
              decisions: z.array(threadDecisionSchema),
              leftOut: z.array(z.string()).describe('ids of the threads that the policy learnt from'),
            }),
            ...problems(404, 413, 415, 503),
          },
        },
      },
      async ({ query, body }) => {
        const { policy } = models.chosen(query.model);
        const decide = threadDecider(policy);
        const decisions: ThreadDecision[] = [];
        const leftOut: string[] = [];
        for (const [index, { id = String(index + 1), posts }] of body.threads.entries()) {
          const thread = { id, event: null, veracity: null, rumor: null, posts: posts.map(wholePost) };
          if (query.includeTrained === 'false' && (await policy.isTrainedOn(thread))) leftOut.push(id);
          else decisions.push(await decide(thread));
        }
        const isShown = ({ alert }: ThreadDecision) => query.alerts === 'false' || alert === true;
        return { decisions: decisions.filter(isShown), leftOut };
      },
    );
  };
}
