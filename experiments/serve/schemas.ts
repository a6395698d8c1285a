import { z } from 'zod';
import { unknownKeyError } from '../../src/data/bad-item.ts';
import { postSchema, threadSchema } from '../../src/data/thread.ts';
import { outOfDistributionSchema, predictionSchema } from './thread-store.ts';

/*
 * What requests and answers look like: for checking them, and for the OpenAPI document.
 */

/** Longest id of a thread or a post, in UTF-16 units. */
export const longestId = 256;
/** Posts of one request. */
const mostPosts = 1000;
/** Longest post, in UTF-16 units. */
const longestText = 100_000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: no log or terminal should have to print them
const withoutControls = /^[^\u0000-\u001f\u007f-\u009f]+$/;

const identifier = z.string().min(1).max(longestId).regex(withoutControls, 'must not hold control characters');

export const threadParams = z.strictObject({
  id: identifier.describe('the thread, under a name that the caller gives it'),
});

/** Which of these bundles decides; it has to be named where there are several. */
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
  error: unknownKeyError({ known: Object.keys(newPostFields) }),
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
    known: Object.keys(additionFields),
    nearMisses: { post: 'posts (a list)', replies: 'posts', last: 'end', final: 'end' },
  }),
});

/** A post of a whole thread; its text is enough. */
const wholePostFields = { ...postSchema.shape, text: newPostFields.text };
const wholePostSchema = z.strictObject(
  { ...wholePostFields, id: identifier.optional() },
  { error: unknownKeyError({ known: Object.keys(wholePostFields) }) },
);
/** Threads of one request. */
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
      .array(z.strictObject(wholeThreadFields, { error: unknownKeyError({ known: Object.keys(wholeThreadFields) }) }))
      .min(1)
      .max(mostThreads),
  },
  {
    error: unknownKeyError({
      known: ['threads'],
      nearMisses: { thread: 'threads (a list)', posts: 'threads ([{ posts }])', id: 'threads ([{ id, posts }])' },
    }),
  },
);

const alertSchema = z
  .boolean()
  .optional()
  .describe(
    'whether someone should act: the thread is decided, and its label raises an alert; left out where no label does',
  );

const trainedOnSchema = z.boolean().describe('whether the policy learnt from this thread, known by its id and claim');

/** A thread as it was decided: a line of `earshot decide`. */
export const decidedSchema = z.object({
  threadId: z.string(),
  post: z.string().describe('the last post that the decision is about'),
  time: z.string().nullable(),
  hours: z.number().nullable().describe('from the claim to the decision'),
  stopped: z.boolean().describe('false where the thread ended before the policy stopped'),
  why: z.enum(['threshold', 'deadline', 'end']),
  postsUsed: z.int(),
  posts: z.int(),
  postsLeftOut: z.int().describe('posts after the limit up to which the policy reads'),
  earliness: z.number().describe('postsUsed / posts'),
  scores: z.array(z.number()).readonly().describe('at every post used'),
  prediction: predictionSchema.nullable(),
  predictionMissing: z.string().nullable(),
  alert: alertSchema,
  queries: z.int().describe('how often the detector was queried'),
  outOfDistribution: outOfDistributionSchema.nullable(),
  trainedOn: trainedOnSchema,
});

/** A thread as far as it has come, in the words of `earshot decide`. */
export const threadViewSchema = z.object({
  threadId: z.string(),
  model: z.string(),
  bundle: z.string().describe('SHA-256 of the manifest of the bundle that reads the thread, or has decided it'),
  decision: z.enum(['continue', 'stop']),
  stopped: z.boolean().describe('false while the policy reads on, and where the thread ended before it stopped'),
  why: z
    .enum(['threshold', 'deadline', 'end'])
    .nullable()
    .describe(
      'why it was decided: by its score, by the deadline, or at the end of the thread; null while the policy reads on',
    ),
  post: z.string().describe('the last post that was read; after the decision, the last one that it is about'),
  time: z.string().nullable(),
  hours: z.number().nullable().describe('from the claim to the decision, or to that post while the policy reads on'),
  postsUsed: z.int(),
  posts: z.array(
    z.object({
      id: z.string(),
      score: z.number().nullable().describe('null for a post after the decision, which was not read'),
    }),
  ),
  outOfDistribution: outOfDistributionSchema
    .nullable()
    .describe(
      'how unlike the threads that the bundle was calibrated on this one is (1 − cosine of the claims), and whether hardly any of those scores as much; null where there is no guarantee',
    ),
  trainedOn: trainedOnSchema,
  queries: z.int().describe('how often the detector was queried'),
  prediction: predictionSchema.nullable().describe('by the detector, given the posts that the decision is about'),
  predictionMissing: z
    .string()
    .nullable()
    .describe('why there is none; a detector that failed is asked again by the next request'),
  alert: alertSchema,
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

/** Answers that say what went wrong, for the OpenAPI document. Every route can give the first few. */
export function problems(...statuses: number[]) {
  const all = [400, 401, 403, 408, 500, ...statuses].sort();
  return Object.fromEntries(all.map((status) => [status, problemSchema.describe(said[status])]));
}

/** What the OpenAPI document says of the routes of one kind. */
export function operations(tag: string) {
  return (operationId: string, summary: string) => ({ tags: [tag], operationId, summary });
}
