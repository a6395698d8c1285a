import { basename, join, resolve } from 'node:path';
import { badItem, eachOrSkip, type SkipOptions, unexpected } from '../bad-item.ts';
import { readLines } from '../text-lines.ts';
import { type Thread, veracities } from '../thread.ts';
import { assembleThread } from './assemble-thread.ts';
import { namesIn } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import { snowflakeTime } from './read-time.ts';

/** The release names all tweets of a tree but has the texts of the claims only. */
export const twitter1516Importer: Importer = {
  name: 'twitter1516',
  description: 'Twitter15 and Twitter16: veracity; reply texts are not in the release, give them with --texts',
  expects: 'folders (twitter15, twitter16) with label.txt, source_tweets.txt and tree/<id>.txt',
  takes: ['texts'],
  async *read(paths, options) {
    const { texts } = options;
    const extra = texts === undefined ? new Map<string, string>() : await readTexts(texts, options);
    const replies = { all: 0, dropped: 0 };
    for (const path of paths) yield* readFolder(path, { ...options, extra, replies });
    const advice =
      texts === undefined
        ? 'every thread is its claim alone. Give the texts as lines id<TAB>text with --texts'
        : `${replies.all - replies.dropped} replies were found in ${texts}`;
    if (replies.dropped > 0)
      options.count(`# of ${replies.all} replies have no text and were dropped: ${advice}`, replies.dropped);
  },
};

async function* readFolder(
  path: string,
  options: ImportContext & { extra: ReadonlyMap<string, string>; replies: { all: number; dropped: number } },
): AsyncGenerator<Thread> {
  const names = await namesIn(path);
  for (const needed of ['label.txt', 'source_tweets.txt', 'tree'])
    if (!names.includes(needed)) throw unexpected(twitter1516Importer, `${path} has no ${needed}`);
  const claims = await readTexts(join(path, 'source_tweets.txt'), options);
  const labels = join(path, 'label.txt');
  yield* eachOrSkip(readLines(labels), options, async (line) => {
    const place = `${labels}:${line.number}`;
    const [label, id] = line.text.trim().split(':');
    const veracity = veracities.find((name) => name === label);
    if (veracity === undefined || !/^\d+$/.test(id ?? ''))
      throw badItem(line.text, { place, reason: `must be label:id with a label of ${veracities.join(', ')}` });
    const claim = claims.get(id) ?? options.extra.get(id);
    if (claim === undefined) throw badItem(id, { place, reason: 'this claim has no text in source_tweets.txt' });
    const tree = await readTwitterTree(join(path, 'tree', `${id}.txt`), id);
    const texts = new Map(tree.replies.map((reply) => [reply.id, options.extra.get(reply.id)]));
    const replies = tree.replies.flatMap((reply) => {
      const text = texts.get(reply.id);
      // The parent of a reply is the tree's if that tweet has a text, otherwise the claim.
      const parent = tree.parents.get(reply.id) ?? id;
      return text === undefined ? [] : [{ ...reply, text, parent: texts.get(parent) === undefined ? id : parent }];
    });
    options.replies.all += tree.replies.length;
    options.replies.dropped += tree.replies.length - replies.length;
    if (tree.retweets > 0) options.count('# retweets, which have no text of their own, were dropped', tree.retweets);
    const posts = [{ ...tree.claim, text: claim }, ...replies];
    return assembleThread(
      { id, event: basename(resolve(path)), veracity, rumor: veracity !== 'non-rumor', posts },
      place,
    );
  });
}

/** The lines `id<TAB>text` of a file. */
async function readTexts(path: string, options: SkipOptions): Promise<Map<string, string>> {
  const read = eachOrSkip(readLines(path), options, ({ text, number }): [string, string] => {
    const tab = text.indexOf('\t');
    const id = text.slice(0, tab).trim();
    if (tab >= 0 && id !== '') return [id, text.slice(tab + 1).trim()];
    const place = `${path}:${number}`;
    throw badItem(text, { place, reason: 'must be an id, a tab and a text' });
  });
  const texts = new Map<string, string>();
  for await (const [id, text] of read) texts.set(id, text);
  return texts;
}

const node = String.raw`\['([^']*)', '([^']*)', '([^']*)'\]`;
const edge = new RegExp(`^${node}->${node}\\s*$`);

/**
 * Reads a tree of Twitter15 or Twitter16: one line `['user', 'tweet', 'minutes']->['user', 'tweet', 'minutes']` per
 * edge, from parent to reply, with the minutes since the claim.
 * @throws BadItemError for a file that cannot be read or a line that is not such an edge
 */
async function readTwitterTree(path: string, claimId: string) {
  const claimTime = snowflakeTime(claimId);
  const claim = { id: claimId, time: claimTime, author: '' };
  // Each tweet once, although the files repeat some and contain a few cycles.
  const replies = new Map<string, typeof claim>();
  /** From a reply's id to that of its parent. */
  const parents = new Map<string, string>();
  /** Nodes that repeat the claim's id under another user. */
  let retweets = 0;
  for await (const line of readLines(path)) {
    const match = line.text.match(edge);
    const minutes = Number(match?.[6]);
    // Some 1,900 years: beyond any real delay and within the range of a date.
    if (match === null || !(Math.abs(minutes) < 1e9))
      throw badItem(line.text, {
        place: `${path}:${line.number}`,
        reason: "must be an edge ['user', 'tweet', 'minutes']->['user', 'tweet', 'minutes']",
      });
    const [, parentUser, parent, , author, id] = match;
    if (id === claimId) {
      if (parentUser === 'ROOT') claim.author = author;
      else if (author !== claim.author) retweets++;
      continue;
    }
    if (replies.has(id)) continue;
    // The time in a tweet's id is exact; the delay is rounded to hundredths of a minute.
    const delayed = claimTime === null ? null : new Date(Date.parse(claimTime) + minutes * 60_000).toISOString();
    replies.set(id, { id, time: snowflakeTime(id) ?? delayed, author });
    if (parent !== 'ROOT') parents.set(id, parent);
  }
  return { claim, replies: [...replies.values()], parents, retweets };
}
