import { z } from 'zod';
import { recordOf } from '../../record-of.ts';
import { badItem, eachOrSkip, orSkip, parseItem } from '../bad-item.ts';
import { readWholeText } from '../text-lines.ts';
import type { Thread } from '../thread.ts';
import { parseJson } from '../thread-file.ts';
import { assembleThread } from './assemble-thread.ts';
import type { ImportContext, Importer } from './importer.ts';
import { foreignTime, snowflakeTime } from './read-time.ts';

const rumorLabel = z.union([z.literal([0, 1]), z.boolean(), z.enum(['0', '1', 'non-rumor', 'rumor'])], {
  error: 'the label must be 1 or "rumor", or 0 or "non-rumor"',
});

const entrySchema = z.object({
  label: rumorLabel,
  seq: z.object({
    timeline: z.array(z.union([z.number(), z.string()])).describe('Unix seconds, or ISO 8601'),
    tids: z
      .array(
        z.union([z.string().min(1), z.int({ error: 'a number this large has lost digits: write ids as strings' })]),
      )
      .optional(),
    texts: z.array(z.string()).min(1, 'a thread needs at least one post, the claim'),
  }),
});

/** The format that the authors' code of EARD and HEARD reads. */
export const eardImporter: Importer = {
  name: 'eard',
  description: 'the JSON of the EARD and HEARD code: {id: {label, seq: {timeline, tids, texts}}}',
  expects: 'one or more .json files',
  takes: ['encoding'],
  async *read(paths, options) {
    for (const path of paths) {
      const text = await readWholeText(path, options);
      const entries = orSkip(options, () =>
        parseItem(recordOf(z.unknown()), { value: parseJson(text, path), place: path }),
      );
      yield* eachOrSkip(Object.entries(entries ?? {}), options, ([id, value]) =>
        threadOf(id, { value, place: `${path} ${id}`, count: options.count }),
      );
    }
  },
};

function threadOf(id: string, input: { value: unknown; place: string; count: ImportContext['count'] }): Thread {
  const { label, seq } = parseItem(entrySchema, input);
  const ids = seq.tids?.map(String) ?? seq.texts.map((_, index) => (index === 0 ? id : `${id}-${index}`));
  for (const [name, list] of Object.entries({ timeline: seq.timeline, tids: ids }))
    if (list.length !== seq.texts.length)
      throw badItem(list, {
        place: `${input.place} seq.${name}`,
        reason: `must have one entry for each of the ${seq.texts.length} texts, and has ${list.length}`,
      });
  const posts = seq.texts.map((text, index) => ({
    id: ids[index],
    text,
    time:
      foreignTime(seq.timeline[index], { ...input, place: `${input.place} seq.timeline.${index}` }) ??
      snowflakeTime(ids[index]),
  }));
  const rumor = [1, true, '1', 'rumor'].includes(label);
  return assembleThread({ id, rumor, veracity: rumor ? null : 'non-rumor', posts }, input.place);
}
