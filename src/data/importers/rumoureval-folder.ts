import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../errors.ts';
import { missingPath } from '../../missing-path.ts';
import { BadItemError, orSkip } from '../bad-item.ts';
import type { Thread } from '../thread.ts';
import { assembleThread } from './assemble-thread.ts';
import { type PostReader, readConversation, sourceFolders } from './conversation-folder.ts';
import type { ImportOptions } from './importer.ts';
import { namesIn, readJsonFile } from './json-file.ts';

/** Stance by post id, as the label files have it. */
export const stanceKey = z.record(z.string(), z.enum(['support', 'deny', 'query', 'comment']));
/** Veracity by thread id, as the label files have it. */
export const veracityKey = z.record(z.string(), z.enum(['true', 'false', 'unverified']));

/** The content of one label file: of which split, and labels by id. */
export interface LabelKey {
  readonly split: string;
  readonly stance: z.output<typeof stanceKey>;
  readonly veracity: z.output<typeof veracityKey>;
}

/** What differs between the years of the task. */
export interface RumourEvalYear {
  /** Names of the label files, for errors. */
  readonly keyNames: string;
  /** Null for a file that is not a label file. */
  parseKey(file: { name: string; value: () => Promise<unknown>; place: string }): Promise<LabelKey | null>;
  /** The event of a thread's folder; null where the release does not say. */
  eventOf(folder: string): string | null;
  /** What reads the posts of a thread's folder. */
  postReader(folder: string): PostReader;
  /** Whether to pass over a folder of this name. */
  ignores(name: string): boolean;
}

/**
 * All labelled threads below `paths`, wherever the release's folders and label files are.
 * @throws InputError for threads without any label file, a broken label file, or a bad thread that is not to be skipped
 */
export async function* readRumourEval(
  paths: readonly string[],
  options: ImportOptions & { year: RumourEvalYear },
): AsyncGenerator<Thread> {
  const { year } = options;
  const found = { threads: new Set<string>(), keys: [] as LabelKey[] };
  for (const path of paths) await walk(path, { year, found });
  if (found.threads.size > 0 && found.keys.length === 0)
    throw new InputError(
      `${paths.join(', ')}: ${found.threads.size} threads but no label files; name their files or folder too (${year.keyNames})`,
    );
  const splitOf = new Map<string, string>();
  const veracityOf = new Map<string, Thread['veracity']>();
  const stanceOf = new Map<string, Thread['posts'][number]['stance']>();
  for (const { split, stance, veracity } of found.keys) {
    for (const [id, label] of Object.entries(stance)) stanceOf.set(id, label);
    for (const [id, label] of Object.entries(veracity)) {
      veracityOf.set(id, label);
      splitOf.set(id, split);
    }
  }
  let withoutStance = 0;
  let withoutText = 0;
  for (const folder of found.threads) {
    const thread = await orSkip(options, async () => {
      const id = basename(folder);
      const veracity = veracityOf.get(id);
      const split = splitOf.get(id);
      if (veracity === undefined || split === undefined)
        throw new BadItemError({
          place: folder,
          value: `no entry for ${id}`,
          reason: `has no veracity in the ${found.keys.length} label files given`,
        });
      const conversation = await readConversation(folder, year.postReader(folder));
      withoutText += conversation.withoutText;
      const posts = conversation.posts.map((post) => ({ ...post, stance: stanceOf.get(post.id) ?? null }));
      withoutStance += posts.filter(({ stance }) => stance === null).length;
      return assembleThread({ id, event: year.eventOf(folder), veracity, rumor: true, split, posts }, folder);
    });
    if (thread !== null) yield thread;
  }
  if (withoutText > 0) options.onNote?.(`${withoutText} replies are stubs without text and were dropped`);
  if (withoutStance > 0) options.onNote?.(`${withoutStance} posts have no stance in the label files; theirs is null`);
}

async function walk(
  path: string,
  context: { year: RumourEvalYear; found: { threads: Set<string>; keys: LabelKey[] } },
): Promise<void> {
  const { year, found } = context;
  const place = await stat(path).catch(() => {
    throw new InputError(missingPath(path));
  });
  if (place.isFile()) {
    const key = await parseKey(path, year);
    if (key !== null) found.keys.push(key);
    return;
  }
  const names = await namesIn(path);
  if (names.some((name) => sourceFolders.includes(name))) {
    found.threads.add(path);
    return;
  }
  for (const name of names) if (!year.ignores(name)) await walk(join(path, name), context);
}

/** A broken label file is an error even where bad items are skipped: too many threads would lose their labels. */
async function parseKey(path: string, year: RumourEvalYear): Promise<LabelKey | null> {
  try {
    return await year.parseKey({ name: basename(path), value: () => readJsonFile(path), place: path });
  } catch (error) {
    throw error instanceof BadItemError ? new InputError(`the label file ${error.message}`) : error;
  }
}

/** The name of the folder that contains a thread's folder. */
export function parentName(folder: string): string {
  return basename(dirname(folder));
}
