import { BadItemError, shortened } from '../bad-item.ts';
import { assertFile, readLines } from '../text-lines.ts';
import { snowflakeTime } from './twitter-post.ts';

/** A tweet as a tree names it: without its text. */
export interface TreePost {
  readonly id: string;
  readonly time: string | null;
  readonly author: string;
}

/** One propagation tree of Twitter15 or Twitter16. */
export interface TwitterTree {
  readonly claim: TreePost;
  /** Each tweet once, although the files repeat some and contain a few cycles. */
  readonly replies: TreePost[];
  /** From a reply's id to that of the tweet it answers. */
  readonly parents: ReadonlyMap<string, string>;
  /** Nodes that repeat the claim's id under another user. */
  readonly retweets: number;
}

const node = String.raw`\['([^']*)', '([^']*)', '([^']*)'\]`;
const edge = new RegExp(`^${node}->${node}\\s*$`);

/**
 * Reads a tree of Twitter15 or Twitter16: one line `['user', 'tweet', 'minutes']->['user', 'tweet', 'minutes']` an
 * edge, from parent to reply, with the minutes since the claim.
 * @throws BadItemError for a file that cannot be read or a line that is not such an edge
 */
export async function readTwitterTree(path: string, claimId: string): Promise<TwitterTree> {
  await assertFile(path).catch((error: Error) => {
    throw new BadItemError({ place: path, value: 'nothing', reason: `the tree cannot be read (${error.message})` });
  });
  const claimTime = snowflakeTime(claimId);
  const replies = new Map<string, TreePost>();
  const parents = new Map<string, string>();
  let claimAuthor = '';
  let retweets = 0;
  for await (const line of readLines(path)) {
    const match = line.text.match(edge);
    const minutes = Number(match?.[6]);
    // Some 1,900 years: beyond any real delay and within what a date can hold.
    if (match === null || !(Math.abs(minutes) < 1e9))
      throw new BadItemError({
        place: `${path}:${line.number}`,
        value: shortened(line.text),
        reason: "must be an edge ['user', 'tweet', 'minutes']->['user', 'tweet', 'minutes']",
      });
    const [, parentUser, parent, , user, id] = match;
    if (id === claimId) {
      if (parentUser === 'ROOT') claimAuthor = user;
      else if (user !== claimAuthor) retweets++;
      continue;
    }
    if (replies.has(id)) continue;
    // The time in a tweet's id is exact; the delay is rounded to hundredths of a minute.
    const delayed = claimTime === null ? null : new Date(Date.parse(claimTime) + minutes * 60_000).toISOString();
    replies.set(id, { id, time: snowflakeTime(id) ?? delayed, author: user });
    if (parent !== 'ROOT') parents.set(id, parent);
  }
  return {
    claim: { id: claimId, time: claimTime, author: claimAuthor },
    replies: [...replies.values()],
    parents,
    retweets,
  };
}
