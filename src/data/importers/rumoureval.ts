import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../errors.ts';
import { missingPath } from '../../missing-path.ts';
import { BadItemError, eachOrSkip, parseItem } from '../bad-item.ts';
import { type Post, stances, type Thread } from '../thread.ts';
import { assembleThread, unixSeconds } from './assemble-thread.ts';
import { type PostReader, readConversation, sourceFolders } from './conversation-folder.ts';
import { jsonIn, namesIn } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import { twitterPost } from './twitter-post.ts';

/** Stance by post id, as in the label files. */
const stanceKey = z.record(z.string(), z.enum(stances));
/** Veracity by thread id, as in the label files. */
const veracityKey = z.record(z.string(), z.enum(['true', 'false', 'unverified']));

/** One label file: its split, and labels by id. */
interface LabelKey {
  readonly split: string;
  readonly stance: z.output<typeof stanceKey>;
  readonly veracity: z.output<typeof veracityKey>;
}

/** The differences between the years of the task. */
interface RumourEvalYear {
  /** Names of the label files, for errors. */
  readonly keyNames: string;
  /** Null for a file without labels. */
  parseKey(file: { name: string; value: () => Promise<unknown>; place: string }): Promise<LabelKey | null>;
  /** The event of a thread's folder; null if the release does not name it. */
  eventOf(folder: string): string | null;
  /** The reader of the posts in a thread's folder. */
  postReader(folder: string): PostReader;
  /** Whether a folder of this name is skipped. */
  ignores(name: string): boolean;
}

/**
 * All labelled threads below `paths`, wherever the release's folders and label files are.
 * @throws InputError for threads without any label file, a broken label file, or a bad thread that is not skipped
 */
async function* readRumourEval(
  paths: readonly string[],
  options: ImportContext & { year: RumourEvalYear },
): AsyncGenerator<Thread> {
  const { year } = options;
  const contents = { threads: new Set<string>(), keys: [] as LabelKey[] };
  for (const path of paths) await walk(path, { year, contents });
  if (contents.threads.size > 0 && contents.keys.length === 0)
    throw new InputError(
      `${paths.join(', ')}: ${contents.threads.size} threads but no label files; name their files or folder too (${year.keyNames})`,
    );
  const splitOf = new Map<string, string>();
  const veracityOf = new Map<string, Thread['veracity']>();
  const stanceOf = new Map<string, Thread['posts'][number]['stance']>();
  for (const { split, stance, veracity } of contents.keys) {
    for (const [id, label] of Object.entries(stance)) stanceOf.set(id, label);
    for (const [id, label] of Object.entries(veracity)) {
      veracityOf.set(id, label);
      splitOf.set(id, split);
    }
  }
  yield* eachOrSkip(contents.threads, options, async (folder) => {
    const id = basename(folder);
    const veracity = veracityOf.get(id);
    const split = splitOf.get(id);
    if (veracity === undefined || split === undefined)
      throw new BadItemError({
        place: folder,
        value: `no entry for ${id}`,
        reason: `has no veracity in the ${contents.keys.length} label files given`,
      });
    const conversation = await readConversation(folder, year.postReader(folder));
    if (conversation.withoutText > 0)
      options.count('# replies are stubs without text and were dropped', conversation.withoutText);
    const posts = conversation.posts.map((post) => ({ ...post, stance: stanceOf.get(post.id) ?? null }));
    const withoutStance = posts.filter(({ stance }) => stance === null).length;
    if (withoutStance > 0) options.count('# posts have no stance in the label files; theirs is null', withoutStance);
    return assembleThread({ id, event: year.eventOf(folder), veracity, rumor: true, split, posts }, folder);
  });
}

async function walk(
  path: string,
  context: { year: RumourEvalYear; contents: { threads: Set<string>; keys: LabelKey[] } },
): Promise<void> {
  const { year, contents } = context;
  const place = await stat(path).catch(() => {
    throw new InputError(missingPath(path));
  });
  if (place.isFile()) {
    const key = await parseKey(path, year);
    if (key !== null) contents.keys.push(key);
    return;
  }
  const names = await namesIn(path);
  if (names.some((name) => sourceFolders.includes(name))) {
    contents.threads.add(path);
    return;
  }
  for (const name of names) if (!year.ignores(name)) await walk(join(path, name), context);
}

/** A broken label file is an error even if bad items are skipped, because many threads would lose their labels. */
async function parseKey(path: string, year: RumourEvalYear): Promise<LabelKey | null> {
  try {
    return await year.parseKey({ name: basename(path), value: () => jsonIn(path), place: path });
  } catch (error) {
    throw error instanceof BadItemError ? new InputError(`the label file ${error.message}`) : error;
  }
}

/** The name of the folder that contains a thread's folder. */
function parentName(folder: string): string {
  return basename(dirname(folder));
}

const year2017: RumourEvalYear = {
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
  // The test part has one folder for all threads instead of one per event.
  eventOf: (folder) => (/semeval|test|rumoureval/i.test(parentName(folder)) ? null : parentName(folder)),
  postReader: () => twitterPost,
  ignores: () => false,
};

/** Submissions, and some copies of the key, have [label, confidence] instead of the label. */
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
  read: (paths, options) => readRumourEval(paths, { ...options, year: year2017 }),
};

const keySchema = z.object({ subtaskaenglish: stanceKey, subtaskbenglish: veracityKey });

const year2019: RumourEvalYear = {
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

/** Recognised by the parent folder (reddit-training-data, …), because an id in base 36 may consist of digits only. */
function isReddit(folder: string): boolean {
  return /reddit/i.test(parentName(folder));
}

/** https://competitions.codalab.org/competitions/19938 */
export const rumoureval2019Importer: Importer = {
  name: 'rumoureval2019',
  description: 'RumourEval 2019 (SemEval-2019 task 7, English, Twitter and Reddit): trees, stance and veracity',
  expects: 'rumoureval-2019-training-data, rumoureval-2019-test-data and final-eval-key.json, or their common folder',
  takes: [],
  read: (paths, options) => readRumourEval(paths, { ...options, year: year2019 }),
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

/** A post from Reddit's API; null for a stub without any text. @throws BadItemError for anything else */
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
