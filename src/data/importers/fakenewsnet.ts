import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { eachOrSkip, parseItem } from '../bad-item.ts';
import type { Thread } from '../thread.ts';
import { assembleThread, unixTime } from './assemble-thread.ts';
import { readDelimitedFile } from './delimited-file.ts';
import { filesBelow, jsonIn, namesIn } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import { snowflakeTime } from './read-time.ts';

const contentFile = 'news content.json';

/** A row of the CSV release. */
const rowSchema = z.object({
  id: z.string().min(1),
  title: z.string().trim().min(1, 'the article has no title'),
  tweet_ids: z.string().default(''),
});

const contentSchema = z
  .object({
    title: z.string().trim().nullish(),
    text: z.string().trim().nullish(),
    // A failed crawl leaves none, or 0.
    publish_date: z.preprocess((seconds) => seconds || null, unixTime.nullable()),
  })
  .refine(({ title, text }) => title || text, { path: ['text'], error: 'has neither text nor title' });

/** https://github.com/KaiDMML/FakeNewsNet */
export const fakeNewsNetImporter: Importer = {
  name: 'fakenewsnet',
  description: 'FakeNewsNet (PolitiFact, GossipCop): news articles labelled real or fake, as threads of one post',
  expects:
    'the CSV release (politifact_fake.csv, …; titles only), or downloaded folders politifact/fake/<id>/news content.json',
  takes: [],
  async *read(paths, options) {
    for (const file of await filesBelow(paths, isOfTweets)) {
      const [, event, label] = basename(file).match(/^(.+)_(fake|real)\.csv$/) ?? [];
      if (label !== undefined)
        yield* eachOrSkip(readDelimitedFile(file, { ...options, delimiter: ',', quote: '"' }), options, (row) => {
          const { id, title, tweet_ids } = parseItem(rowSchema, row);
          return threadOf({ id, event, label, title, tweets: tweet_ids.split(/\s+/), place: row.place }, options);
        });
      if (basename(file) === contentFile)
        yield* eachOrSkip([dirname(file)], options, async (folder) => {
          const content = parseItem(contentSchema, { value: await jsonIn(file), place: file });
          const tweets = (await namesIn(join(folder, 'tweets'))).map((name) => basename(name, '.json'));
          const label = basename(dirname(folder));
          const event = basename(dirname(dirname(folder)));
          return threadOf({ id: basename(folder), event, label, ...content, tweets, place: file }, options);
        });
    }
  },
};

/** The folder of an article also holds thousands of its tweets. */
function isOfTweets(path: string): boolean {
  return /^(tweets|retweets|user_\w+)$/.test(basename(path));
}

function threadOf(
  article: Partial<z.output<typeof contentSchema>> & {
    id: string;
    event: string;
    label: string;
    tweets: readonly string[];
    place: string;
  },
  { count }: ImportContext,
): Thread {
  const { id, event, label, title, text, publish_date, tweets, place } = article;
  if (!text) count('# articles have a title only');
  // Without a date, the first tweet that shared the article is closest to it.
  const time = publish_date ?? tweets.flatMap((tweet) => snowflakeTime(tweet) ?? []).sort()[0] ?? null;
  if (time === null) count('# articles have no time');
  else if (!publish_date) count('the time of # articles is that of the first tweet that shared them');
  const posts = [{ id, time, text: [title, text].filter(Boolean).join('\n') }];
  return assembleThread({ id, event, labels: { news: label }, posts }, place);
}
