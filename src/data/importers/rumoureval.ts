import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { entryOf } from '../../entry-of.ts';
import { badItem, eachOrSkip, parseItem, unexpected } from '../bad-item.ts';
import { readWholeText } from '../text-lines.ts';
import { stances, type Thread } from '../thread.ts';
import { parseJson } from '../thread-file.ts';
import { assembleThread } from './assemble-thread.ts';
import { isReddit, readConversation, sourceFolders } from './conversation-folder.ts';
import { isFile, namesIn } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';

/** https://alt.qcri.org/semeval2017/task8/ */
export const rumoureval2017Importer: Importer = {
  name: 'rumoureval2017',
  description: 'RumourEval 2017 (SemEval-2017 task 8, English): trees, stance and veracity',
  expects:
    'semeval2017-task8-dataset (with rumoureval-data/ and traindev/), the test folder, subtaska.json, subtaskb.json',
  takes: [],
  read: (paths, options) => readRumourEval(paths, { ...options, importer: rumoureval2017Importer }),
};

/** https://competitions.codalab.org/competitions/19938 */
export const rumoureval2019Importer: Importer = {
  name: 'rumoureval2019',
  description: 'RumourEval 2019 (SemEval-2019 task 7, English, Twitter and Reddit): trees, stance and veracity',
  expects: 'rumoureval-2019-training-data, rumoureval-2019-test-data and final-eval-key.json, or their common folder',
  takes: [],
  read: (paths, options) => readRumourEval(paths, { ...options, importer: rumoureval2019Importer }),
};

/** Stance by post id, as in the label files. */
const stanceKey = z.record(z.string(), z.enum(stances));
const veracity = z.enum(['true', 'false', 'unverified']);
/** Veracity by thread id. Submissions, and some copies of the key, have [label, confidence] instead of the label. */
const veracityKey = z.record(
  z.string(),
  z.preprocess((value) => z.tuple([z.string(), z.number()]).safeParse(value).data?.[0] ?? value, veracity),
);
const keySchema2019 = z.object({ subtaskaenglish: stanceKey, subtaskbenglish: veracityKey });

/**
 * All labelled threads below `paths`, wherever the release's folders and label files are.
 * @throws InputError for threads without any label file, a broken label file, or a bad thread that is not skipped
 */
async function* readRumourEval(
  paths: readonly string[],
  options: ImportContext & { importer: Importer },
): AsyncGenerator<Thread> {
  const release: Release = { threads: [], labelFiles: 0, splitOf: {}, stanceOf: {}, veracityOf: {} };
  for (const path of paths) await addTo(release, path);
  const { threads, labelFiles, splitOf, stanceOf, veracityOf } = release;
  if (threads.length > 0 && labelFiles === 0)
    throw unexpected(
      options.importer,
      `${paths.join(', ')}: ${threads.length} threads but no label files, such as train-key.json or rumoureval-subtaskB-train.json`,
    );
  yield* eachOrSkip(new Set(threads), options, async (folder) => {
    const id = basename(folder);
    if (!Object.hasOwn(veracityOf, id))
      throw badItem(id, { place: folder, reason: `has no veracity in the ${labelFiles} label files given` });
    const conversation = await readConversation(folder);
    if (conversation.withoutText > 0)
      options.count('# replies are stubs without text and were dropped', conversation.withoutText);
    const posts = conversation.posts.map((post) => ({ ...post, stance: entryOf(stanceOf, post.id) ?? null }));
    const withoutStance = posts.filter(({ stance }) => stance === null).length;
    if (withoutStance > 0) options.count('# posts have no stance in the label files; theirs is null', withoutStance);
    const labels = { veracity: veracityOf[id], rumor: true, split: splitOf[id] };
    return assembleThread({ id, event: eventOf(folder), ...labels, posts }, folder);
  });
}

/** The folders of threads, and the labels by id of all label files. */
interface Release {
  readonly threads: string[];
  labelFiles: number;
  readonly splitOf: Record<string, string>;
  readonly stanceOf: z.output<typeof stanceKey>;
  readonly veracityOf: z.output<typeof veracityKey>;
}

async function addTo(release: Release, path: string): Promise<void> {
  if (await isFile(path)) return addLabels(release, path);
  const names = await namesIn(path);
  if (names.some((name) => sourceFolders.includes(name))) {
    release.threads.push(path);
    return;
  }
  // The test data has Danish and Russian folders beside the English one; their labels belong to other tasks.
  for (const name of names)
    if (!/^(twitter-(da|ru)-|danish|russian)/i.test(name)) await addTo(release, join(path, name));
}

/** A broken label file is an error even if bad items are skipped, because many threads would lose their labels. */
async function addLabels(release: Release, path: string): Promise<void> {
  const place = `the label file ${path}`;
  const [isOf2017, task, part2017 = 'test'] = path.match(/subtask([ab])(?:-(train|dev|test))?\.json$/i) ?? [];
  const [isOf2019, part2019 = ''] = basename(path).match(/^(train|dev|test|final-eval)-key\.json$/i) ?? [];
  if (!isOf2017 && !isOf2019) return;
  release.labelFiles++;
  const value = parseJson(await readWholeText(path), place);
  const read = isOf2019
    ? parseItem(keySchema2019, { value, place })
    : task.toLowerCase() === 'a'
      ? { subtaskaenglish: parseItem(stanceKey, { value, place }), subtaskbenglish: {} }
      : { subtaskaenglish: {}, subtaskbenglish: parseItem(veracityKey, { value, place }) };
  Object.assign(release.stanceOf, read.subtaskaenglish);
  Object.assign(release.veracityOf, read.subtaskbenglish);
  const split = isOf2019 ? part2019.toLowerCase().replace('final-eval', 'test') : part2017;
  for (const id of Object.keys(read.subtaskbenglish)) release.splitOf[id] = split;
}

/** The folder of a thread's folder, unless it is the folder of a part, which names no event. */
function eventOf(folder: string): string | null {
  const event = basename(dirname(folder));
  if (isReddit(folder)) return 'reddit';
  return /semeval|test|rumoureval|twitter/i.test(event) ? null : event;
}
