import { basename, join } from 'node:path';
import { z } from 'zod';
import { badItem, eachOrSkip, parseItem } from '../bad-item.ts';
import type { Thread } from '../thread.ts';
import { assembleThread } from './assemble-thread.ts';
import { readConversation } from './conversation-folder.ts';
import { jsonIn, namesIn } from './foreign-files.ts';
import type { Importer } from './importer.ts';

const classFolders = ['non-rumours', 'rumours'];

/** https://figshare.com/articles/dataset/PHEME_dataset_for_Rumour_Detection_and_Veracity_Classification/6392078 */
export const phemeImporter: Importer = {
  name: 'pheme',
  description: 'PHEME, rumours and non-rumours of five or nine events, with veracity from annotation.json',
  expects: 'the unpacked folder (all-rnr-annotated-threads), or folders of single events',
  takes: [],
  async *read(paths, options) {
    for (const path of paths)
      for (const event of await eventFolders(path, 2))
        for (const kind of classFolders) {
          const folders = (await namesIn(join(event, kind))).map((name) => join(event, kind, name));
          yield* eachOrSkip(folders, options, async (folder) => {
            // In places the archive has plain files among the threads' folders.
            if ((await namesIn(folder)).length === 0) return null;
            const { posts } = await readConversation(folder);
            const rumor = kind === 'rumours';
            const veracity = rumor ? await rumorVeracity(folder) : 'non-rumor';
            if (veracity === null) options.count('# rumours have no veracity in annotation.json; theirs is null');
            const name = basename(event).replace(/-all-rnr-threads$/, '');
            return assembleThread({ id: basename(folder), event: name, veracity, rumor, posts }, folder);
          });
        }
  },
};

/** Folders that contain rumours/ or non-rumours/: `path` itself or folders up to `depth` levels below it. */
async function eventFolders(path: string, depth: number): Promise<string[]> {
  const names = await namesIn(path);
  if (names.some((name) => classFolders.includes(name))) return [path];
  if (depth === 0) return [];
  const folders = await Promise.all(names.map((name) => eventFolders(join(path, name), depth - 1)));
  return folders.flat();
}

const flag = z.union([z.literal([0, 1]), z.enum(['0', '1'])]).transform(Number);
const annotationSchema = z.object({ misinformation: flag.optional(), true: flag.optional() });

/**
 * Reads the two flags like the data set's script convert_veracity_annotations: a misinformation is false, a true rumour
 * is true, and neither is unverified. `true` without the other flag means nothing.
 */
async function rumorVeracity(folder: string): Promise<Thread['veracity']> {
  if (!(await namesIn(folder)).includes('annotation.json')) return null;
  const place = join(folder, 'annotation.json');
  const value = await jsonIn(place);
  const { misinformation, true: isTrue } = parseItem(annotationSchema, { value, place });
  if (misinformation === undefined) return null;
  if (misinformation === 1 && isTrue === 1)
    throw badItem(value, { place, reason: 'misinformation and true are both 1; a rumour cannot be both' });
  if (misinformation === 1) return 'false';
  return isTrue === 1 ? 'true' : 'unverified';
}
