import { basename } from 'node:path';
import { z } from 'zod';
import { jsonOrUndefined } from '../../json.ts';
import { eachOrSkip, parseItem } from '../bad-item.ts';
import { assembleThread } from './assemble-thread.ts';
import { readDelimitedFile } from './delimited-file.ts';
import { filesBelow } from './foreign-files.ts';
import type { Importer } from './importer.ts';

const categories = ['scientific_claim', 'scientific_reference', 'scientific_entities'] as const;
const flag = z.union([z.literal(0), z.literal(1)], { error: 'must be 0 or 1' }).transform((value) => value === 1);

const rowSchema = z.object({
  index: z.string().trim().min(1),
  text: z.string().min(1),
  // A Python list of floats, which happens to be JSON.
  labels: z
    .string()
    .transform(jsonOrUndefined)
    .pipe(z.tuple([flag, flag, flag], { error: 'must be a list such as [0.0, 0.0, 1.0]' }))
    .optional()
    .describe('the test part comes without'),
});

/** https://checkthat.gitlab.io/clef2025/task4/ */
export const checkthat4aImporter: Importer = {
  name: 'checkthat4a',
  description: 'CheckThat! 2025 task 4a: tweets with three yes-or-no labels on science, as threads of one post',
  expects:
    "the task's tab-separated files (ct_train.tsv, ct_dev.tsv, ct_test.tsv) with the columns index, text, labels, or their folder",
  takes: ['encoding'],
  async *read(paths, options) {
    const files = await filesBelow(paths);
    for (const path of files.filter((file) => paths.includes(file) || file.endsWith('.tsv'))) {
      // Each part numbers its tweets from the start, and all parts may be imported at once.
      const split = basename(path)
        .match(/(train|dev|test)/i)?.[1]
        .toLowerCase();
      yield* eachOrSkip(readDelimitedFile(path, { ...options, delimiter: '\t', quote: '"' }), options, (row) => {
        const { index, text, labels } = parseItem(rowSchema, row);
        const id = split === undefined ? index : `${split}-${index}`;
        if (labels === undefined) options.count('# tweets have no labels');
        return assembleThread(
          {
            id,
            posts: [{ id, text }],
            ...(split && { split }),
            ...(labels && { labels: Object.fromEntries(categories.map((name, place) => [name, labels[place]])) }),
          },
          row.place,
        );
      });
    }
  },
};
