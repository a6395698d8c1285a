import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { badItem, parseItem } from '../bad-item.ts';
import type { Post } from '../thread.ts';
import { unixTime } from './assemble-thread.ts';
import { jsonIn, namesIn } from './foreign-files.ts';
import { readTime, snowflakeTime } from './read-time.ts';

/** The posts of one conversation, each with its parent. */
interface Conversation {
  /** The claim, then the replies in the order of the folder. */
  readonly posts: Post[];
  /** Replies that are stubs without any text. */
  readonly withoutText: number;
}

/** Names of the folder with the claim, which mark a conversation. */
export const sourceFolders = ['source-tweet', 'source-tweets'];

/**
 * Reads a conversation in the form of PHEME and RumourEval: a folder with one JSON file per post and the tree in
 * structure.json.
 * @throws BadItemError for a folder without a claim, or a malformed file
 */
export async function readConversation(folder: string): Promise<Conversation> {
  const sources = await readPosts(folder, sourceFolders);
  // Some archives have several files there; the one named like the thread is the claim.
  const source = sources.posts.find(({ id }) => id === basename(folder)) ?? sources.posts[0];
  if (source === undefined)
    throw badItem(await namesIn(folder), {
      place: folder,
      reason: `has no post in ${sourceFolders.join('/ or ')}/`,
    });
  const replies = await readPosts(folder, ['reactions', 'replies']);
  const posts = [source, ...replies.posts.filter(({ id }) => id !== source.id)];
  const parents = await parentsFromStructure(join(folder, 'structure.json'));
  return { posts: withParents(posts, parents), withoutText: replies.withoutText };
}

/** Recognised by the parent folder (reddit-training-data, …), because an id in base 36 may consist of digits only. */
export function isReddit(folder: string): boolean {
  return /reddit/i.test(basename(dirname(folder)));
}

/** The posts in the first of several folders that is not empty. */
async function readPosts(conversation: string, folders: readonly string[]): Promise<Conversation> {
  const readPost = isReddit(conversation) ? redditPost : twitterPost;
  for (const folder of folders) {
    const names = await namesIn(join(conversation, folder));
    if (names.length === 0) continue;
    const read: (Post | null)[] = [];
    for (const name of names.filter((each) => each.endsWith('.json'))) {
      const place = join(conversation, folder, name);
      // The file's name has all digits of the id.
      read.push(readPost({ value: await jsonIn(place), place, id: basename(name, '.json') }));
    }
    const posts = read.filter((post) => post !== null);
    return { posts, withoutText: read.length - posts.length };
  }
  return { posts: [], withoutText: 0 };
}

const tweetSchema = z
  .object({
    text: z.string().optional(),
    full_text: z.string().optional(),
    created_at: z.string().default(''),
    in_reply_to_status_id_str: z.string().nullish(),
    user: z.object({ screen_name: z.string().optional(), id_str: z.string().optional() }).nullish(),
  })
  .refine(({ text, full_text }) => text !== undefined || full_text !== undefined, {
    path: ['text'],
    error: 'a tweet needs text or full_text',
  });

/** A tweet from version 1.1 of Twitter's API. @throws BadItemError for anything else */
function twitterPost({ id, ...input }: { value: unknown; place: string; id: string }): Post {
  const { user, ...tweet } = parseItem(tweetSchema, input);
  const created = readTime(tweet.created_at);
  return {
    id,
    time: typeof created === 'string' ? snowflakeTime(id) : created.time,
    author: user?.screen_name ?? user?.id_str ?? null,
    parent: tweet.in_reply_to_status_id_str ?? null,
    text: tweet.full_text ?? tweet.text ?? '',
    stance: null,
  };
}

const thingSchema = z.object({
  title: z.string().optional(),
  selftext: z.string().optional(),
  body: z.string().optional(),
  created_utc: unixTime.optional(),
  author: z.string().nullish(),
  parent_id: z.string().nullish(),
});

const wrappedSchema = z.union([
  z.object({ data: z.object({ children: z.array(z.object({ data: thingSchema })).min(1) }) }),
  z.object({ data: thingSchema }),
]);

/** A post from Reddit's API; null for a stub without any text. @throws BadItemError for anything else */
function redditPost({ id, ...input }: { value: unknown; place: string; id: string }): Post | null {
  const { data } = parseItem(wrappedSchema, input);
  const thing = 'children' in data ? data.children[0].data : data;
  const text = [thing.title, thing.selftext, thing.body].filter(Boolean).join('\n');
  if (text === '') return null;
  return {
    id,
    time: thing.created_utc ?? null,
    author: thing.author ?? null,
    // Reddit's full names, such as t1_cy6ykvm, are a kind and an id.
    parent: thing.parent_id?.replace(/^t\d_/, '') ?? null,
    text,
    stance: null,
  };
}

const branchSchema = z.record(z.string(), z.unknown());

/** Reads `{claim: {reply: {answer: []}, reply: []}}`: child to parent. A folder without the file has a flat tree. */
async function parentsFromStructure(path: string): Promise<Map<string, string>> {
  const parents = new Map<string, string>();
  if (!(await namesIn(dirname(path))).includes(basename(path))) return parents;
  const roots = parseItem(branchSchema, { value: await jsonIn(path), place: path });
  // A stack instead of calls: a tree may be deeper than calls may.
  const open = Object.entries(roots).map(([id, branch]) => ({ id, branch, parent: null as string | null }));
  open.reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { id, branch, parent } = next;
    if (parent !== null && !parents.has(id)) parents.set(id, parent);
    // A leaf is an empty list.
    const children = Object.entries(branchSchema.safeParse(branch).data ?? {});
    for (const [child, below] of children.reverse()) open.push({ id: child, branch: below, parent: id });
  }
  return parents;
}

/** The parent in the tree, or else in the post; if that post is missing, its nearest ancestor here, or the claim. */
function withParents(posts: readonly Post[], parents: ReadonlyMap<string, string>): Post[] {
  const present = new Set(posts.map(({ id }) => id));
  const [claim] = posts;
  return posts.map((post, index) => {
    if (index === 0) return { ...post, parent: null };
    const visited = new Set([post.id]);
    let parent = parents.get(post.id) ?? post.parent ?? claim.id;
    while (!present.has(parent) && !visited.has(parent)) {
      visited.add(parent);
      parent = parents.get(parent) ?? claim.id;
    }
    return { ...post, parent: present.has(parent) && parent !== post.id ? parent : claim.id };
  });
}
