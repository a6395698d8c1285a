import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import type { Importer } from './importer.ts';
import { parentName, type RumourEvalYear, readRumourEval, stanceKey, veracityKey } from './rumoureval-folder.ts';
import { twitterPost } from './twitter-post.ts';

const year: RumourEvalYear = {
  keyNames: 'rumoureval-subtaskA-train.json, rumoureval-subtaskB-train.json, …-dev.json; subtaska.json, subtaskb.json',
  async parseKey(file) {
    const name = file.name.match(/subtask([ab])(?:-(train|dev|test))?\.json$/i);
    if (name === null) return null;
    // The test labels came as subtaska.json and subtaskb.json.
    const [, task, split = 'test'] = name;
    const input = { value: await file.value(), place: file.place };
    return task.toLowerCase() === 'a'
      ? { split, stance: parseItem(stanceKey, input), veracity: {} }
      : { split, stance: {}, veracity: parseItem(z.preprocess(answerOnly, veracityKey), input) };
  },
  // The test part has no event folders: all its threads are in one.
  eventOf: (folder) => (/semeval|test|rumoureval/i.test(parentName(folder)) ? null : parentName(folder)),
  postReader: () => twitterPost,
  ignores: () => false,
};

/** Submissions, and some copies of the key, have [label, confidence] where the key has the label. */
function answerOnly(value: unknown): unknown {
  const pairs = z.record(z.string(), z.tuple([z.string(), z.number()])).safeParse(value);
  return pairs.success ? Object.fromEntries(Object.entries(pairs.data).map(([id, [label]]) => [id, label])) : value;
}

/** https://alt.qcri.org/semeval2017/task8/ */
export const rumoureval2017Importer: Importer = {
  name: 'rumoureval2017',
  description: 'RumourEval 2017 (SemEval-2017 task 8, English): trees, stance and veracity',
  expects:
    'semeval2017-task8-dataset (with rumoureval-data/ and traindev/), the test folder, subtaska.json, subtaskb.json',
  takes: [],
  read: (paths, options) => readRumourEval(paths, { ...options, year }),
};
