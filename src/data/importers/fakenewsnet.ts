import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { BadItemError, eachOrSkip, parseItem } from '../bad-item.ts';
import type { Thread } from '../thread.ts';
import { assembleThread, unixSeconds } from './assemble-thread.ts';
import { readDelimitedFile } from './delimited-file.ts';
import { jsonIn, namesIn } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import { snowflakeTime } from './twitter-post.ts';

const contentFile = 'news content.json';

/** A row of the CSV release. */
const rowSchema = z.object({ id: z.string().min(1), title: z.string(), tweet_ids: z.string().default('') });

const contentSchema = z
  .object({
    title: z.string().nullish(),
    text: z.string().nullish(),
    publish_date: unixSeconds.nullish(),
  })
  .refine(({ title, text }) => title?.trim() || text?.trim(), { path: ['text'], error: 'has neither text nor title' });

/** https://github.com/KaiDMML/FakeNewsNet */
export const fakeNewsNetImporter: Importer = {
  name: 'fakenewsnet',
  description: 'FakeNewsNet (PolitiFact, GossipCop): news articles labelled real or fake, as threads of one post',
  expects:
    'the CSV release (politifact_fake.csv, …; titles only), or downloaded folders politifact/fake/<id>/news content.json',
  takes: [],
  async *read(paths, options) {
    for (const path of paths)
      for (const file of await filesBelow(path)) {
        if (file.endsWith('.csv')) yield* readRelease(file, options);
        else yield* eachOrSkip([dirname(file)], options, (folder) => readArticle(folder, options));
      }
  },
};

async function* readRelease(path: string, options: ImportContext): AsyncGenerator<Thread> {
  const [, event, label] = basename(path).match(/^(.+)_(fake|real)\.csv$/) ?? [];
  yield* eachOrSkip(readDelimitedFile(path, { ...options, delimiter: ',', quote: '"' }), options, (row) => {
    const { id, title, tweet_ids } = parseItem(rowSchema, row);
    if (title.trim() === '')
      throw new BadItemError({ place: row.place, value: id, reason: 'the article has no title' });
    const time = firstTweetTime(tweet_ids.split(/\s+/));
    countLacks({ isTitleOnly: true, published: null, time }, options);
    const posts = [{ id, time, text: title.trim() }];
    return assembleThread({ id, event, labels: { news: label }, posts }, row.place);
  });
}

async function readArticle(folder: string, options: ImportContext): Promise<Thread> {
  const id = basename(folder);
  const place = join(folder, contentFile);
  const { title, text, publish_date } = parseItem(contentSchema, { value: await jsonIn(place), place });
  const label = basename(dirname(folder));
  const event = basename(dirname(dirname(folder)));
  // A failed crawl leaves no date. The first tweet that shared the article is closest to it.
  const published = publish_date ? new Date(publish_date * 1000).toISOString() : null;
  const tweets = (await namesIn(join(folder, 'tweets'))).map((name) => name.replace(/\.json$/, ''));
  const time = published ?? firstTweetTime(tweets);
  countLacks({ isTitleOnly: !text?.trim(), published, time }, options);
  const whole = [title, text].flatMap((part) => part?.trim() || []).join('\n');
  return assembleThread({ id, event, labels: { news: label }, posts: [{ id, time, text: whole }] }, place);
}

function countLacks(
  { isTitleOnly, published, time }: { isTitleOnly: boolean; published: string | null; time: string | null },
  { count }: ImportContext,
): void {
  if (isTitleOnly) count('# articles have a title only');
  if (time === null) count('# articles have no time');
  else if (published === null) count('the time of # articles is that of the first tweet that shared them');
}

function firstTweetTime(ids: readonly string[]): string | null {
  return ids.flatMap((id) => snowflakeTime(id) ?? []).sort()[0] ?? null;
}

/** The release's CSV files and the articles' JSON files at or below a path. */
async function filesBelow(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return isRelease(path) || basename(path) === contentFile ? [path] : [];
  const names = await namesIn(path);
  // The folder of an article also holds thousands of its tweets.
  if (names.includes(contentFile)) return [join(path, contentFile)];
  if (/^(tweets|retweets|user_\w+)$/.test(basename(path))) return [];
  const files: string[] = [];
  for (const name of names) {
    const below = join(path, name);
    if ((await stat(below)).isDirectory()) files.push(...(await filesBelow(below)));
    else if (isRelease(below)) files.push(below);
  }
  return files;
}

function isRelease(path: string): boolean {
  return /_(fake|real)\.csv$/.test(path);
}
