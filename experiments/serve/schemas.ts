import { z } from 'zod';
import { unknownKeyError } from '../../src/data/bad-item.ts';
import { postSchema, threadSchema } from '../../src/data/thread.ts';
import { threadDecisionSchema } from '../stop-agent/decide.ts';

/*
 * What requests and answers look like: for checking them, and for the OpenAPI document.
 */

export const longestId = 256;
const mostPosts = 1000;
const longestText = 100_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: no log or terminal should have to print them
const withoutControls = /^[^\u0000-\u001f\u007f-\u009f]+$/;

const identifier = z.string().min(1).max(longestId).regex(withoutControls, 'must not hold control characters');

export const threadParams = z.strictObject({
  id: identifier.describe('the thread, under a name that the caller gives it'),
});

/** The choice among bundles, required if there are several. */
export function modelQuery(names: readonly string[]) {
  const model = z
    .string({ error: `several models are served (${names.join(', ')}); name one with ?model=` })
    .max(64)
    .describe('the bundle that decides')
    .meta({ examples: [...names] });
  return z.strictObject({ model: names.length > 1 ? model : model.optional() });
}

const newPostFields = {
  ...postSchema.shape,
  id: identifier.describe('known posts are answered as before and not read again'),
  author: z.string().max(longestId).nullable().default(null),
  parent: z.string().max(longestId).nullable().default(null).describe('id of the post it answers'),
  text: z.string().max(longestText),
  stance: postSchema.shape.stance.describe('not read; so that posts of thread files can be sent as they are'),
  index: z
    .int()
    .min(0)
    .optional()
    .describe('its place in the thread, 0 for the claim; with it, a gap is noticed where times do not tell'),
};
const newPostSchema = z.strictObject(newPostFields, {
  error: unknownKeyError({ keys: Object.keys(newPostFields) }),
});

const additionFields = {
  posts: z
    .array(newPostSchema)
    .max(mostPosts)
    .describe('the next posts in time order; the first of a thread is the claim'),
  end: z
    .boolean()
    .default(false)
    .describe('no post will follow: a thread that the policy never stops is decided with its last post'),
};
export const additionSchema = z.strictObject(additionFields, {
  error: unknownKeyError({
    keys: Object.keys(additionFields),
    nearMisses: { post: 'posts (a list)', replies: 'posts', last: 'end', final: 'end' },
  }),
});

const wholePostFields = { ...postSchema.shape, text: newPostFields.text };
const wholePostSchema = z.strictObject(
  { ...wholePostFields, id: identifier.optional() },
  { error: unknownKeyError({ keys: Object.keys(wholePostFields) }) },
);
const mostThreads = 1000;
const unread = 'not read; so that lines of thread files can be sent as they are';
const { event, veracity, rumor, split, labels } = threadSchema.shape;
const wholeThreadFields = {
  event: event.describe(unread),
  veracity: veracity.describe(unread),
  rumor: rumor.describe(unread),
  split: split.describe(unread),
  labels: labels.describe(unread),
  id: identifier.optional(),
  posts: z.array(wholePostSchema).min(1).max(mostPosts).describe('the claim, then the replies in time order'),
};

export const wholeThreadsSchema = z.strictObject(
  {
    threads: z
      .array(z.strictObject(wholeThreadFields, { error: unknownKeyError({ keys: Object.keys(wholeThreadFields) }) }))
      .min(1)
      .max(mostThreads),
  },
  {
    error: unknownKeyError({
      keys: ['threads'],
      nearMisses: { thread: 'threads (a list)', posts: 'threads ([{ posts }])', id: 'threads ([{ id, posts }])' },
    }),
  },
);

/** The state of a thread, in the words of `earshot decide`. */
export const threadViewSchema = threadDecisionSchema
  .pick({
    ...{ threadId: true, post: true, time: true, hours: true, postsUsed: true, outOfDistribution: true },
    ...{ trainedOn: true, queries: true, prediction: true, predictionMissing: true, alert: true },
  })
  .extend({
    model: z.string(),
    bundle: z.string().describe('SHA-256 of the manifest of the bundle that reads the thread, or has decided it'),
    decision: z.enum(['continue', 'stop']),
    stopped: z.boolean().describe('false while the policy reads on, and where the thread ended before it stopped'),
    why: threadDecisionSchema.shape.why.nullable().describe('why it was decided; null while the policy reads on'),
    posts: z.array(
      z.object({
        id: z.string(),
        score: z.number().nullable().describe('null for a post after the decision, which was not read'),
      }),
    ),
  });

export type ThreadView = z.infer<typeof threadViewSchema>;

export const problemSchema = z.object({
  error: z.string().describe('what is wrong, the value seen, and what to do'),
  field: z.string().nullable().describe('the place in the request, such as posts.2.time'),
});

const said: Readonly<Record<number, string>> = {
  400: 'The request is not what this asks for.',
  401: 'The bearer token is missing or wrong.',
  403: 'The server answers programs on its own machine only.',
  404: 'There is no such model or thread.',
  408: 'The request did not arrive in time.',
  409: 'The posts do not fit what was read already.',
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

export function operations(tag: string) {
  return (operationId: string, summary: string) => ({ tags: [tag], operationId, summary });
}
