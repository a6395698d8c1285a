import { z } from 'zod';
import { sha256 } from '../content-hash.ts';
import { InputError } from '../errors.ts';
import { recordOf } from '../record-of.ts';
import { unknownKeyError } from './bad-item.ts';
import { hoursBetween, timeProblem } from './iso-time.ts';

/** Stances of a post towards its claim, in the order that all distributions use. */
export const stances = ['support', 'deny', 'query', 'comment'] as const;
export const veracities = ['true', 'false', 'unverified', 'non-rumor'] as const;

/** The fields of a post and its thread that a column of a table may hold. */
export const tableFields = [
  'threadId',
  'postId',
  'title',
  'text',
  'time',
  'author',
  'parent',
  'rumor',
  'veracity',
  'label',
  'stance',
  'event',
  'split',
] as const;
export type TableField = (typeof tableFields)[number];

const names = (text: string): readonly string[] => text.split(' ');

/** Names that other programs and people have for the fields, in lower case and without punctuation. */
export const commonNames: Readonly<Record<TableField, readonly string[]>> = {
  threadId: names('thread threadid conversation conversationid claimid rootid sourceid ticketid caseid'),
  postId: names('postid id idstr tweetid tid statusid commentid messageid'),
  title: names('title'),
  text: names('text body content fulltext message tweet tweettext posttext'),
  time: names('time createdat timestamp date datetime created createdutc posttime postedat sentat'),
  author: names('author user username screenname userid authorid sender'),
  parent: [
    ...names('parent parentid replyto replytoid replytostatusid replytomessageid'),
    ...names('inreplyto inreplytostatusid inreplytostatusidstr inreplytoid inreplytotweetid inreplytopostid'),
  ],
  rumor: names('rumor rumour isrumor isrumour'),
  veracity: names('veracity verdict truthvalue'),
  label: names('label class target y'),
  stance: names('stance stancelabel'),
  event: names('event topic'),
  split: names('split fold subset partition'),
};

const timestamp = z.iso
  .datetime({
    offset: true,
    error: ({ input }) => timeProblem(input, 'must be an ISO 8601 date and time, such as 2014-08-09T22:33:06Z'),
  })
  .nullable()
  .default(null)
  .describe('when it was posted, ISO 8601; null where unknown');

/** Ids of tweets lose digits as numbers, so no number is accepted as a text. */
const text = z.string({
  error: ({ input }) => {
    if (typeof input !== 'number') return undefined;
    return Number.isSafeInteger(input)
      ? `must be a text, "${input}" in quotes; \`earshot data import threads\` puts such numbers into quotes`
      : 'must be a text, in quotes: as a number it has lost digits';
  },
});

const postFields = {
  id: text.min(1),
  time: timestamp,
  author: text.nullable().default(null),
  parent: text.nullable().default(null).describe('id of the post it answers; null for the claim or where unknown'),
  text: z.string(),
  stance: z.enum(stances).nullable().default(null).describe('towards the claim'),
};

/** Keys of other formats, without case and underscores, with our keys. */
const otherNamesOfPostFields = {
  ...otherNamesOf({ postId: 'id', time: 'time', author: 'author', parent: 'parent', text: 'text' }),
  label: 'stance (support, deny, query or comment)',
  replies: 'parent (posts are one list, and a reply names the post that it answers)',
  comments: 'parent (posts are one list, and a reply names the post that it answers)',
};

function otherNamesOf(keys: Partial<Record<TableField, string>>): Record<string, string> {
  return Object.fromEntries(
    tableFields
      .flatMap((field) => commonNames[field].map((name) => [name, keys[field] ?? '']))
      .filter(([, key]) => key),
  );
}

/** One post of a thread: the claim or a reply. */
export const postSchema = z.strictObject(postFields, {
  error: unknownKeyError({ keys: Object.keys(postFields), nearMisses: otherNamesOfPostFields }),
});

/** Labels of a user's own. */
export const labelsSchema = recordOf(z.union([z.string(), z.number(), z.boolean()]).nullable());

const threadFields = {
  id: text.min(1),
  event: text.nullable().default(null),
  veracity: z
    .enum(veracities, {
      error: ({ input }) => (typeof input === 'boolean' ? `must be a text, "${input}" in quotes` : undefined),
    })
    .nullable()
    .default(null),
  rumor: z.boolean({ error: 'must be true, false or null, without quotes' }).nullable().default(null),
  split: z.string().optional().describe('the official part of the data set, where it has parts'),
  labels: labelsSchema.optional().describe('labels of your own by name; null where unknown'),
  chosen: z
    .enum(['start', 'random', 'margin'])
    .optional()
    .describe('how `earshot label` chose it; only a random one tests, and those of the start and by margin only train'),
  posts: z.array(postSchema).min(1, 'a thread needs at least one post, the claim'),
};

const labelFields = 'rumor (true or false), veracity, or labels ({"name": value})';
const otherNamesOfThreadFields = {
  ...otherNamesOf({
    threadId: 'id',
    event: 'event',
    label: labelFields,
    rumor: 'rumor',
    veracity: 'veracity',
    split: 'split',
  }),
  tid: 'id',
  truth: 'veracity',
  part: 'split',
  tweets: 'posts',
  messages: 'posts',
  comments: 'posts (the claim first, then the replies)',
  replies: 'posts (the claim first, then the replies)',
  reactions: 'posts (the claim first, then the replies)',
  claim: 'posts (the claim is the first of them)',
  text: 'posts (the claim is the first of them)',
  source: 'posts (the claim is the first of them)',
  seq: 'posts; `earshot data import eard` reads files that have seq',
};

/**
 * A thread on one line of a `threads.jsonl` file and in memory. An unknown key is an error; otherwise a label under
 * another name would silently be lost.
 */
export const threadSchema = z
  .strictObject(threadFields, {
    error: unknownKeyError({ keys: Object.keys(threadFields), nearMisses: otherNamesOfThreadFields }),
  })
  .superRefine(({ posts }, context) => {
    for (const problem of problemsOfPosts(posts)) context.addIssue({ code: 'custom', ...problem });
  });

/** Posts that repeat an id, and the first reply that is not in time order, each with its path in the thread. */
export function problemsOfPosts(
  posts: readonly { readonly id?: string | undefined; readonly time: string | null }[],
): { path: (string | number)[]; message: string }[] {
  const places = new Map<string, number>();
  const repeated = posts.flatMap(({ id }, index) => {
    const first = id === undefined ? undefined : places.get(id);
    if (id !== undefined) places.set(id, index);
    const message = `repeats the id ${JSON.stringify(id)} of posts.${first}; ids are unique within a thread`;
    return first === undefined ? [] : [{ path: ['posts', index, 'id'], message }];
  });
  const late = firstPostOutOfOrder(posts);
  if (late === null) return repeated;
  const message = `${late.time} is earlier than ${late.previous} before it; replies must be in time order (\`earshot data import threads --sort\` sorts them)`;
  return [...repeated, { path: ['posts', late.index, 'time'], message }];
}

/** One post in memory, with every field present. */
export type Post = z.infer<typeof postSchema>;
/** A thread: `posts[0]` is the claim; the others are in time order. */
export type Thread = z.infer<typeof threadSchema>;

/** The claim may be younger than a reply (a quoted or re-created source); replies among themselves may not. */
function firstPostOutOfOrder(
  posts: readonly Pick<Post, 'time'>[],
): { index: number; time: string; previous: string } | null {
  let previous: string | null = null;
  for (let index = 1; index < posts.length; index++) {
    const { time } = posts[index];
    if (time === null) continue;
    if (previous !== null && Date.parse(time) < Date.parse(previous)) return { index, time, previous };
    previous = time;
  }
  return null;
}

/** Hours from the claim to post `index`, never negative; null if either time is unknown. */
export function hoursSinceClaim(thread: Thread, index: number): number | null {
  return hoursBetween(thread.posts[0].time, thread.posts[index].time);
}

/** The beginning of a thread: all that a detector or a stop agent may see at one time. */
export interface Prefix {
  readonly threadId: string;
  readonly posts: readonly Post[];
}

/**
 * The first `length` posts of a thread.
 * @param length 1 to the number of posts
 * @throws InputError for any other length
 */
export function prefixOf(thread: Thread, length: number): Prefix {
  if (length < 1 || length > thread.posts.length)
    throw new InputError(`thread ${thread.id} has ${thread.posts.length} posts; a prefix of ${length} cannot be taken`);
  return { threadId: thread.id, posts: thread.posts.slice(0, length) };
}

/** True for a thread with any label. */
export function isLabelled({ rumor, veracity, labels = {} }: Thread): boolean {
  return [rumor, veracity, ...Object.values(labels)].some((label) => label !== null);
}

/**
 * Whether a score over labelled threads may count this one. Threads chosen by margin are harder than those that a
 * detector will read. Those of the start taught the detector that chose, and none like them was chosen, so a detector
 * without them finds them harder than new threads, too.
 */
export function isFairTest({ chosen }: Pick<Thread, 'chosen'>): boolean {
  return chosen === undefined || chosen === 'random';
}

/** Names a thread by its id and claim, so that it is recognised when further replies have come or labels are gone. */
export function threadIdentity({ id, posts: [claim] }: Pick<Thread, 'id' | 'posts'>): string {
  return sha256({ id, claim: claim.text });
}
