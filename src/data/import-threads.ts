import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { closest } from 'fastest-levenshtein';
import { InputError } from '../errors.ts';
import { missingPathWith } from '../missing-path.ts';
import { badItem, eachOrSkip, shortened, unexpected } from './bad-item.ts';
import { foldedName } from './folded-name.ts';
import { articlesImporter } from './importers/articles.ts';
import { checkthat4aImporter } from './importers/checkthat4a.ts';
import { convokitImporter } from './importers/convokit.ts';
import { csvImporter } from './importers/csv.ts';
import { eardImporter } from './importers/eard.ts';
import { eriskImporter } from './importers/erisk.ts';
import { fakeNewsNetImporter } from './importers/fakenewsnet.ts';
import type { Importer, ImportOptions } from './importers/importer.ts';
import { labelValueCounts } from './importers/label-values.ts';
import { isNothing, type NothingRules, wordCounts } from './importers/nothing.ts';
import { parquetImporter } from './importers/parquet.ts';
import { phemeImporter } from './importers/pheme.ts';
import { postsImporter } from './importers/posts.ts';
import { rumorevalSImporter } from './importers/rumoreval-s.ts';
import { rumoureval2017Importer, rumoureval2019Importer } from './importers/rumoureval.ts';
import { threadsImporter } from './importers/threads.ts';
import { twitter1516Importer } from './importers/twitter1516.ts';
import { encodingNamed } from './text-encoding.ts';
import type { Thread } from './thread.ts';

/** Every format that can be imported. A new one is a file in `importers/` and a line here. */
export const importers: readonly Importer[] = [
  threadsImporter,
  csvImporter,
  postsImporter,
  parquetImporter,
  eardImporter,
  phemeImporter,
  rumoureval2017Importer,
  rumoureval2019Importer,
  rumorevalSImporter,
  twitter1516Importer,
  fakeNewsNetImporter,
  checkthat4aImporter,
  convokitImporter,
  eriskImporter,
  articlesImporter,
];

/** The importer of a format. @throws InputError that names the nearest format */
export function findImporter(format: string): Importer {
  const importer = importers.find(({ name }) => name === format);
  if (importer !== undefined) return importer;
  const names = importers.map(({ name }) => name);
  throw new InputError(
    `there is no format ${JSON.stringify(format)}; did you mean ${closest(format, names)}? Formats: ${names.join(', ')}`,
  );
}

/**
 * Reads threads in a foreign format, one at a time, each id once.
 * @param options.paths files or folders, as the format expects them
 * @throws InputError for an unknown format, an option that the format does not take, a missing path, a bad item that is
 *   not skipped, or no thread at all
 */
export async function* importThreads(
  format: string,
  options: ImportOptions & { paths: readonly string[] },
): AsyncGenerator<Thread> {
  const importer = findImporter(format);
  for (const option of ['sort', 'texts', 'label', 'encoding', 'table', 'nulls'] as const)
    if (options[option] && !importer.takes.includes(option)) {
      const flag = option === 'nulls' ? '--null' : `--${option}`;
      const subject = option === 'table' ? 'options on columns mean' : `${flag} means`;
      const takers = importers.filter(({ takes }) => takes.includes(option)).map(({ name }) => name);
      throw new InputError(`${subject} nothing to the format ${format}; only to ${takers.join(', ')}`);
    }
  for (const path of [...options.paths, ...(options.texts === undefined ? [] : [options.texts])])
    if (!existsSync(path)) throw new InputError(missingPathWith(`${format} expects ${importer.expects}`, path));
  // By id: an export that ran twice has exact copies.
  const contents = new Map<string, string>();
  const notes = counter();
  const warnings = counter();
  const words = wordCounts();
  const rules = { words: new Set((options.nulls ?? []).map(foldedName)), onWord: words.onWord };
  const isTable = importer.takes.includes('table');
  const labels = labelValueCounts({ takesMap: isTable });
  const times = doubtfulTimes(options.now);
  let copies = 0;
  const encoding = options.encoding === undefined ? undefined : encodingNamed(options.encoding);
  const reading = { ...options, encoding, count: notes.count, warn: warnings.count, rules };
  yield* eachOrSkip(importer.read(options.paths, reading), options, (read) => {
    // Tables fold their cells, because rows of one thread must match. Our own files are validated and not changed.
    const thread = isTable || importer === threadsImporter ? read : foldThread(read, rules);
    const content = createHash('sha256').update(JSON.stringify(thread)).digest('base64');
    if (contents.get(thread.id) === content) {
      copies++;
      return null;
    }
    if (contents.has(thread.id))
      throw badItem(thread.id, {
        place: `${options.paths.join(', ')}: thread ${contents.size + copies + 1}, id`,
        reason: 'repeats the id of an earlier thread, and differs from it',
      });
    contents.set(thread.id, content);
    labels.add(thread);
    times.add(thread);
    return thread;
  });
  if (copies > 0) notes.count('# threads are exact copies of earlier ones and were left out', copies);
  for (const note of [...notes.texts(), ...words.notes()]) options.onNote?.(note);
  const onWarning = options.onWarning ?? options.onNote;
  for (const warning of [...warnings.texts(), ...labels.warnings(), ...times.warnings()]) onWarning?.(warning);
  if (contents.size === 0) throw unexpected(importer, `${options.paths.join(', ')}: no ${format} threads found`);
}

/** Counts equal notes; the number replaces #. */
function counter() {
  const counts = new Map<string, number>();
  return {
    count: (text: string, by = 1) => void counts.set(text, (counts.get(text) ?? 0) + by),
    texts: () => Array.from(counts, ([text, times]) => text.replace('#', String(times))),
  };
}

/** No social medium is older. Apple's seconds since 2001 and .NET's ticks would be earlier as Unix times. */
const firstYear = 1997;

/** Counts impossible times: before social media, or after `now`. */
function doubtfulTimes(now: Date | undefined) {
  const first = Date.UTC(firstYear, 0);
  const last = now?.getTime() ?? Number.POSITIVE_INFINITY;
  const early = { count: 0, example: '', when: `before ${firstYear}` };
  const late = { count: 0, example: '', when: 'in the future' };
  return {
    add({ id, posts }: Pick<Thread, 'id' | 'posts'>): void {
      for (const post of posts) {
        const ms = post.time === null ? first : Date.parse(post.time);
        if (ms >= first && ms <= last) continue;
        const tally = ms < first ? early : late;
        if (tally.count++ === 0)
          tally.example = `${post.time} (post ${JSON.stringify(post.id)} of ${JSON.stringify(id)})`;
      }
    },
    warnings(): string[] {
      return [early, late]
        .filter(({ count }) => count > 0)
        .map(
          ({ count, example, when }) =>
            `${count} times lie ${when}, such as ${example}: check how the times are written, because rules and delays in hours read them`,
        );
    },
  };
}

/** Folds a thread's ids and labels; empty labels become null. @throws BadItemError for empty or equal ids */
function foldThread(thread: Thread, rules: NothingRules): Thread {
  const place = `thread ${shortened(thread.id)}`;
  const idOf = (id: string) => {
    const folded = foldedName(id);
    if (folded !== '') return folded;
    throw badItem(id, { place, reason: 'an id must have characters that can be seen' });
  };
  const nameOf = (name: string | null) => (name === null ? null : foldedName(name) || null);
  const posts = thread.posts.map((post) => ({
    ...post,
    id: idOf(post.id),
    author: nameOf(post.author),
    parent: nameOf(post.parent),
  }));
  const ids = new Set<string>();
  for (const [index, { id }] of posts.entries()) {
    if (ids.has(id))
      throw badItem(thread.posts[index].id, {
        place: `${place} posts.${index}.id`,
        reason: 'looks the same as the id of another post of the thread',
      });
    ids.add(id);
  }
  const labels = Object.entries(thread.labels ?? {}).map(([name, value]) => {
    const folded = typeof value === 'string' ? foldedName(value) : value;
    const isNull = typeof folded === 'string' && isNothing(folded, { column: name, rules });
    return [foldedName(name), isNull ? null : folded];
  });
  return {
    ...thread,
    id: idOf(thread.id),
    event: nameOf(thread.event),
    posts,
    ...(thread.labels !== undefined && { labels: Object.fromEntries(labels) }),
  };
}
