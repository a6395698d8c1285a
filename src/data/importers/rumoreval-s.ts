/*
 * RumorEval-S, https://github.com/2302Jerry/Data-Repo. The format of its label files is evident:
 *   ClaimLabel.txt   claimID:<id> TAB TR|FR|NR|UR
 *   StanceLabel.txt  claimID:<id> TAB replyID:<id> TAB S|D|Q|C   (for the claim's own stance, its id stands twice)
 * The texts are in zip files. The repository says only that there is one file a claim, named after its id, with claim
 * id, claim text, reply ids and reply texts. So a line here may be any of
 *   [claimID:]<id> <text>,  [replyID:]<id> <text>,  claimID:<id> replyID:<id> <text>
 * separated by tabs, spaces, colons or commas, and a line that does not start with an id continues the text before it.
 */
import { basename } from 'node:path';
import { badItem, eachOrSkip, type SkipOptions, unexpected } from '../bad-item.ts';
import { readLines, readWholeText } from '../text-lines.ts';
import type { Post, Thread } from '../thread.ts';
import { assembleThread } from './assemble-thread.ts';
import { filesBelow } from './foreign-files.ts';
import type { Importer } from './importer.ts';
import { snowflakeTime } from './read-time.ts';

/** By the codes that the patterns of the label files allow. */
const veracityOfCode: Readonly<Record<string, Thread['veracity']>> = {
  TR: 'true',
  FR: 'false',
  UR: 'unverified',
  NR: 'non-rumor',
};
const stanceOfCode: Readonly<Record<string, Post['stance']>> = {
  S: 'support',
  D: 'deny',
  Q: 'query',
  C: 'comment',
};

/** Claims with their veracity and posts with their stance. The head of this file describes the layout. */
export const rumorevalSImporter: Importer = {
  name: 'rumoreval-s',
  description: 'RumorEval-S (2302Jerry/Data-Repo): veracity with non-rumors, stance of the posts',
  expects: 'the repository with its zip files unpacked: ClaimLabel.txt, StanceLabel.txt and one text file a claim',
  takes: [],
  async *read(paths, options) {
    const files = await filesBelow(paths);
    const stances = new Map<string, Post['stance']>();
    const stanceLines = {
      name: 'StanceLabel.txt',
      pattern: /^claimID:(\d+)\s+replyID:(\d+)\s+([SDQC])\s*$/,
      form: 'claimID:<id>, replyID:<id> and S, D, Q or C',
    };
    for await (const [, claim, reply, code] of labelLines(files, stanceLines, options))
      stances.set(`${claim} ${reply}`, stanceOfCode[code]);
    const claims = new Map<string, Thread['veracity']>();
    const claimLines = {
      name: 'ClaimLabel.txt',
      pattern: /^claimID:(\d+)\s+(TR|FR|NR|UR)\s*$/,
      form: 'claimID:<id> and TR, FR, NR or UR',
    };
    for await (const [, claim, code] of labelLines(files, claimLines, options)) claims.set(claim, veracityOfCode[code]);
    const textOf = new Map(files.map((path) => [basename(path).replace(/\.\w+$/, ''), path]));
    yield* eachOrSkip(claims, options, async ([id, veracity]) => {
      const path = textOf.get(id);
      if (path === undefined) {
        options.count('# labelled claims have no text file and were left out');
        return null;
      }
      const posts = (await readPosts(path, id)).map((post) => ({
        ...post,
        stance: stances.get(`${id} ${post.id}`) ?? null,
      }));
      return assembleThread({ id, veracity, rumor: veracity !== 'non-rumor', posts }, path);
    });
  },
};

/** The lines of all files with a name. */
async function* labelLines(
  files: readonly string[],
  { name, pattern, form }: { name: string; pattern: RegExp; form: string },
  options: SkipOptions,
): AsyncGenerator<RegExpMatchArray> {
  const matches = files.filter((path) => basename(path) === name);
  if (matches.length === 0) throw unexpected(rumorevalSImporter, `no ${name} among the ${files.length} files given`);
  for (const path of matches)
    yield* eachOrSkip(readLines(path), options, ({ text, number }) => {
      const match = text.match(pattern);
      if (match !== null) return match;
      throw badItem(text, { place: `${path}:${number}`, reason: `must hold ${form}` });
    });
}

async function readPosts(path: string, claimId: string): Promise<Post[]> {
  const posts: Post[] = [];
  for (const line of (await readWholeText(path)).split(/\r?\n/)) {
    const start = line.match(
      /^(?:claimID:)?\s*(\d{6,})(?:[\t ,:]+replyID:\s*(\d{6,}))?[\t ,:]+(.*)$|^replyID:\s*(\d{6,})[\t ,:]+(.*)$/,
    );
    const previous = posts.at(-1);
    if (start !== null) {
      const id = start[4] ?? start[2] ?? start[1];
      const text = (start[5] ?? start[3]).trim();
      posts.push({ id, text, time: snowflakeTime(id), author: null, parent: null, stance: null });
    } else if (line.trim() !== '' && previous !== undefined) previous.text += `\n${line.trim()}`;
    else if (line.trim() !== '')
      throw badItem(line, { place: `${path}:1`, reason: 'must start with the id of the claim' });
  }
  const claim = posts.find(({ id }) => id === claimId);
  if (claim === undefined)
    throw badItem(
      posts.map(({ id }) => id),
      { place: path, reason: `does not hold its claim ${claimId}` },
    );
  return [claim, ...posts.filter((post) => post !== claim)];
}
