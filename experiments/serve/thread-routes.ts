import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { wholePost } from '../../checkpoints/policy/policy-post.ts';
import { unknownKeyError } from '../../src/data/bad-item.ts';
import { postSchema, problemsOfPosts, threadSchema } from '../../src/data/thread.ts';
import { type ThreadDecision, threadDecider, threadDecisionSchema, threadViewSchema } from '../stop-agent/decide.ts';
import type { GrowingThreads } from './growing-threads.ts';
import { HttpProblem, longestId, problems } from './http-problem.ts';
import { type Models, modelQuery } from './models.ts';
import type { ServerMetrics } from './operation-routes.ts';

const mostPosts = 1000;
const longestText = 100_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: no log or terminal should have to print them
const withoutControls = /^[^\u0000-\u001f\u007f-\u009f]+$/;

const identifier = z.string().min(1).max(longestId).regex(withoutControls, 'must not hold control characters');

const threadParams = z.strictObject({
  id: identifier.describe('the thread, under a name that the caller gives it'),
});

/** An object that refuses an unknown key and names the one that may be meant. */
function strict<Fields extends z.ZodRawShape>(fields: Fields, nearMisses: Readonly<Record<string, string>> = {}) {
  return z.strictObject(fields, { error: unknownKeyError({ keys: Object.keys(fields), nearMisses }) });
}

const text = z.string().max(longestText);
const newPostSchema = strict({
  ...postSchema.shape,
  id: identifier.describe('known posts are answered as before and not read again'),
  author: z.string().max(longestId).nullable().default(null),
  parent: z.string().max(longestId).nullable().default(null).describe('id of the post it answers'),
  text,
  stance: postSchema.shape.stance.describe('not read; so that posts of thread files can be sent as they are'),
  index: z
    .int()
    .min(0)
    .optional()
    .describe('its place in the thread, 0 for the claim; with it, a gap is noticed where times do not tell'),
});

const additionSchema = strict(
  {
    posts: z
      .array(newPostSchema)
      .max(mostPosts)
      .describe('the next posts in time order; the first of a thread is the claim'),
    end: z
      .boolean()
      .default(false)
      .describe('no post will follow: a thread that the policy never stops is decided with its last post'),
  },
  { post: 'posts (a list)', replies: 'posts', last: 'end', final: 'end' },
);

const mostThreads = 1000;
const unread = 'not read; so that lines of thread files can be sent as they are';
const { event, veracity, rumor, split, labels } = threadSchema.shape;
const wholeThreadSchema = strict({
  event: event.describe(unread),
  veracity: veracity.describe(unread),
  rumor: rumor.describe(unread),
  split: split.describe(unread),
  labels: labels.describe(unread),
  id: identifier.optional(),
  posts: z
    .array(strict({ ...postSchema.shape, text, id: identifier.optional() }))
    .min(1)
    .max(mostPosts)
    .describe('the claim, then the replies in time order'),
});

const wholeThreadsSchema = strict(
  { threads: z.array(wholeThreadSchema).min(1).max(mostThreads) },
  { thread: 'threads (a list)', posts: 'threads ([{ posts }])', id: 'threads ([{ id, posts }])' },
);

const about = (operationId: string, summary: string) => ({ tags: ['threads'], operationId, summary });

/** Routes for threads that grow post by post. */
export function threadRoutes(options: {
  models: Models;
  threads: GrowingThreads;
  metrics: ServerMetrics;
}): FastifyPluginAsyncZod {
  const { models, threads, metrics } = options;
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
            ...problems(404, 409, 413, 415, 503),
          },
        },
      },
      async ({ query, body }) => {
        const { policy } = models.chosen(query.model);
        const decide = threadDecider(policy);
        const decisions: ThreadDecision[] = [];
        const leftOut: string[] = [];
        for (const [index, { id = String(index + 1), posts }] of body.threads.entries()) {
          const [problem] = problemsOfPosts(posts);
          if (problem !== undefined) {
            const field = ['threads', index, ...problem.path].join('.');
            throw new HttpProblem(409, `${field}: ${problem.message}`, { field });
          }
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
