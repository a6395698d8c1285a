import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import type { Importer } from './importer.ts';
import { redditPost } from './reddit-post.ts';
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
