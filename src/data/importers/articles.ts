import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import { labelsSchema } from '../thread.ts';
import { assembleThread } from './assemble-thread.ts';
import { itemsOfJson } from './foreign-files.ts';
import type { Importer } from './importer.ts';

const articleSchema = z
  .object({
    id: z.union([z.string().min(1), z.int().transform(String)]),
    title: z.string().nullish(),
    text: z.string().nullish(),
    split: z.string().optional(),
    labels: labelsSchema,
  })
  .refine(({ title, text }) => title || text, { path: ['text'], error: 'has neither a text nor a title' });

/** JSON Lines of single texts: every item becomes a thread of one post. */
export const articlesImporter: Importer = {
  name: 'articles',
  description: 'articles and single posts with labels from other sources (P-Stance, …): threads of one post',
  expects: 'JSON Lines files of {id, text, labels: {name: value}}, optionally with title and split',
  takes: ['encoding', 'nulls'],
  async *read(paths, options) {
    for (const path of paths)
      yield* itemsOfJson(path, options, (value, place) => {
        const { id, title, text, split, labels } = parseItem(articleSchema, { value, place });
        if (!text) options.count('# articles have a title only');
        const posts = [{ id, text: [title, text].filter(Boolean).join('\n') }];
        return assembleThread({ id, labels, posts, ...(split === undefined ? {} : { split }) }, place);
      });
  },
};
