import { z } from 'zod';
import { parseThread } from '../thread-file.ts';
import { sortReplies } from './assemble-thread.ts';
import { itemsOfJson } from './foreign-files.ts';
import type { Importer } from './importer.ts';

/** Earshot's own thread files. Unlike other formats they are validated strictly: an unknown key is a bad item. */
export const threadsImporter: Importer = {
  name: 'threads',
  description: 'thread files of this program: checks them, joins several, sorts replies with --sort',
  expects: 'one or more .jsonl or .jsonl.gz files, or JSON lists of threads',
  takes: ['sort', 'encoding'],
  async *read(paths, options) {
    const note = 'the replies of # threads were out of time order and are now sorted';
    if (options.sort) options.count(note, 0);
    for (const path of paths)
      yield* itemsOfJson(path, options, (value, place) => {
        // Numeric ids become texts if no digit was lost.
        const named: unknown = numbered.safeParse(value).data ?? value;
        if (!options.sort) return parseThread(named, { place, path });
        const inOrder = withSortedReplies(named);
        if (inOrder !== named) options.count(note);
        return parseThread(inOrder, { place, path });
      });
  },
};

const nameSchema = z.union([z.int().transform(String), z.unknown()]);
const numbered = z.looseObject({
  id: nameSchema,
  posts: z.array(z.looseObject({ id: nameSchema, parent: nameSchema.optional(), author: nameSchema.optional() })),
});

const sortable = z.looseObject({ posts: z.array(z.looseObject({ time: z.string().nullish() })) });

/** Sorts the replies. Returns a sorted thread, or a value that the thread schema will refuse, unchanged. */
function withSortedReplies(value: unknown): unknown {
  const result = sortable.safeParse(value);
  if (!result.success) return value;
  const posts = sortReplies(result.data.posts);
  return posts.every((post, index) => post === result.data.posts[index]) ? value : { ...result.data, posts };
}
