import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import type { Post } from '../thread.ts';
import { unixSeconds } from './assemble-thread.ts';
import type { Importer } from './importer.ts';
import { parentName, type RumourEvalYear, readRumourEval, stanceKey, veracityKey } from './rumoureval-folder.ts';
import { twitterPost } from './twitter-post.ts';

const keySchema = z.object({ subtaskaenglish: stanceKey, subtaskbenglish: veracityKey });

const year: RumourEvalYear = {
  keyNames: 'train-key.json, dev-key.json, final-eval-key.json',
  async parseKey(file) {
    const name = file.name.match(/^(train|dev|test|final-eval)-key\.json$/i);
    if (name === null) return null;
    const key = parseItem(keySchema, { value: await file.value(), place: file.place });
    const part = name[1].toLowerCase();
    return {
      split: part === 'final-eval' ? 'test' : part,
      stance: key.subtaskaenglish,
      veracity: key.subtaskbenglish,
    };
  },
  eventOf: (folder) =>
    isReddit(folder) ? 'reddit' : /twitter|test-data/i.test(parentName(folder)) ? null : parentName(folder),
  postReader: (folder) => (isReddit(folder) ? redditPost : twitterPost),
  // The test data has Danish and Russian folders beside the English one; their labels belong to other tasks.
  ignores: (name) => /^(twitter-(da|ru)-|danish|russian)/i.test(name),
};

/**
 * Told by the parent folder (reddit-training-data, …): an id in base 36 may consist of digits only, as Twitter's do.
 */
function isReddit(folder: string): boolean {
  return /reddit/i.test(parentName(folder));
}

/** https://competitions.codalab.org/competitions/19938 */
export const rumoureval2019Importer: Importer = {
  name: 'rumoureval2019',
  description: 'RumourEval 2019 (SemEval-2019 task 7, English, Twitter and Reddit): trees, stance and veracity',
  expects: 'rumoureval-2019-training-data, rumoureval-2019-test-data and final-eval-key.json, or their common folder',
  takes: [],
  read: (paths, options) => readRumourEval(paths, { ...options, year }),
};

const thingSchema = z.object({
  title: z.string().optional(),
  selftext: z.string().optional(),
  body: z.string().optional(),
  created_utc: unixSeconds.optional(),
  author: z.string().nullish(),
  parent_id: z.string().nullish(),
});

const wrappedSchema = z.union([
  z.object({ data: z.object({ children: z.array(z.object({ data: thingSchema })).min(1) }) }),
  z.object({ data: thingSchema }),
]);

/**
 * A submission or comment as Reddit's API returned it; null for a stub without any text.
 * @throws BadItemError for anything else
 */
function redditPost(input: { value: unknown; place: string; id: string }): Post | null {
  const { data } = parseItem(wrappedSchema, input);
  const thing = 'children' in data ? data.children[0].data : data;
  const text = [thing.title, thing.selftext, thing.body].filter(Boolean).join('\n');
  if (text === '') return null;
  return {
    id: input.id,
    time: thing.created_utc === undefined ? null : new Date(thing.created_utc * 1000).toISOString(),
    author: thing.author ?? null,
    // Reddit's full names, such as t1_cy6ykvm, are a kind and an id.
    parent: thing.parent_id?.replace(/^t\d_/, '') ?? null,
    text,
    stance: null,
  };
}
