import { basename, join } from 'node:path';
import { z } from 'zod';
import { BadItemError, parseItem } from '../bad-item.ts';
import type { Post } from '../thread.ts';
import { firstFolder, jsonIn, namesIn } from './foreign-files.ts';

/** The posts of one conversation, each with its parent. */
export interface Conversation {
  /** The claim, then the replies in the order of the folder. */
  readonly posts: Post[];
  /** Replies that are stubs without any text. */
  readonly withoutText: number;
}

/** Reads one post's JSON; the id comes from the file's name. Null for a stub without text. Throws BadItemError. */
export type PostReader = (input: { value: unknown; place: string; id: string }) => Post | null;

/** Names of the folder with the claim, which mark a conversation. */
export const sourceFolders = ['source-tweet', 'source-tweets'];
const replyFolders = ['reactions', 'replies'];

/**
 * Reads a conversation in the form of PHEME and RumourEval: a folder with one JSON file per post and the tree in
 * structure.json.
 * @throws BadItemError for a folder without a claim, or a malformed file
 */
export async function readConversation(folder: string, readPost: PostReader): Promise<Conversation> {
  const sources = await readPosts(await firstFolder(folder, sourceFolders), readPost);
  // Some archives have several files there; the one named like the thread is the claim.
  const source = sources.posts.find(({ id }) => id === basename(folder)) ?? sources.posts[0];
  if (source === undefined)
    throw new BadItemError({
      place: folder,
      value: shortList(await namesIn(folder)),
      reason: `has no post in ${sourceFolders.join('/ or ')}/`,
    });
  const replies = await readPosts(await firstFolder(folder, replyFolders), readPost);
  const posts = [source, ...replies.posts.filter(({ id }) => id !== source.id)];
  const parents = await parentsFromStructure(join(folder, 'structure.json'));
  return { posts: withParents(posts, parents), withoutText: replies.withoutText };
}

async function readPosts(folder: string | null, readPost: PostReader): Promise<Conversation> {
  const posts: Post[] = [];
  let withoutText = 0;
  if (folder === null) return { posts, withoutText };
  for (const name of await namesIn(folder)) {
    if (!name.endsWith('.json')) continue;
    const place = join(folder, name);
    const post = readPost({ value: await jsonIn(place), place, id: name.slice(0, -'.json'.length) });
    if (post === null) withoutText++;
    else posts.push(post);
  }
  return { posts, withoutText };
}

const branchSchema = z.record(z.string(), z.unknown());

/** Reads `{claim: {reply: {answer: []}, reply: []}}`: child to parent. A folder without the file has a flat tree. */
async function parentsFromStructure(path: string): Promise<Map<string, string>> {
  const parents = new Map<string, string>();
  if (!(await namesIn(join(path, '..'))).includes('structure.json')) return parents;
  const walk = (parent: string, branch: unknown): void => {
    // A leaf is an empty list.
    const children = branchSchema.safeParse(branch);
    if (!children.success) return;
    for (const [child, below] of Object.entries(children.data)) {
      if (!parents.has(child)) parents.set(child, parent);
      walk(child, below);
    }
  };
  const roots = parseItem(branchSchema, { value: await jsonIn(path), place: path });
  for (const [root, below] of Object.entries(roots)) walk(root, below);
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

function shortList(names: readonly string[]): string {
  return names.length === 0 ? 'an empty folder' : names.slice(0, 6).join(', ');
}
