import { BadItemError, orSkip, type SkipOptions, shortened } from '../bad-item.ts';
import { readLines } from '../text-lines.ts';

/** The lines `id<TAB>text` of a file. */
export async function readTexts(path: string, options: SkipOptions): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for await (const line of readLines(path))
    await orSkip(options, () => {
      const tab = line.text.indexOf('\t');
      const id = line.text.slice(0, tab).trim();
      if (tab < 0 || id === '')
        throw new BadItemError({
          place: `${path}:${line.number}`,
          value: shortened(line.text),
          reason: 'must be an id, a tab and a text',
        });
      texts.set(id, line.text.slice(tab + 1).trim());
    });
  return texts;
}
