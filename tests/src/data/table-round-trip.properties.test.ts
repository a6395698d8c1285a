import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { foldedName } from '../../../src/data/folded-name.ts';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { TableImportOptions } from '../../../src/data/importers/table/columns.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { collect, temporaryFolder, writeFiles } from './fixtures.ts';

/*
 * What tables can carry comes back from the import as it was, or is refused with its place. It is never merged with something else, and
 * never lost without a word.
 */

/** Pieces of names and texts that some reader has taken for something else. */
const pieces = [
  ...[
    'a',
    'B',
    '0',
    '-',
    '_',
    '谣言',
    '🔥',
    'é',
    'e\u0301',
    'ß',
    '"',
    '""',
    "'",
    ',',
    ';',
    '\t',
    '|',
    '\\',
    '\\N',
    '=',
    '#',
  ],
  ...[
    '\n',
    '\r\n',
    '\r',
    '\u2028',
    '\u0085',
    ' ',
    '\u00a0',
    '\u200b',
    '\ufeff',
    '\u0000',
    '\u0007',
    '\u001b[31m',
    '\u202e',
  ],
  ...[
    'none',
    'NA',
    'null',
    'NaN',
    'nan',
    'None',
    'N/A',
    'true',
    'constructor',
    '__proto__',
    'toString',
    'valueOf',
    '&amp;',
    '<b>',
  ],
];
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...pieces) },
  fc.string({ unit: 'grapheme', maxLength: 3 }),
);
/** A formula of one text, by which spreadsheets keep an id whole, is read as the text on purpose. */
const text = fc
  .array(piece, { maxLength: 6 })
  .map((parts) => parts.join(''))
  .filter((own) => !/^="(?:[^"]|"")*"$/.test(own));

/** Digits with ends that spreadsheets write, and the names of Reddit's things, are read as other ids on purpose. */
const name = text.filter((own) => {
  const folded = foldedName(own);
  return folded !== '' && folded !== '\\N' && !/^[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?$|^t[13]_/i.test(folded);
});
const label = fc.option(name, { nil: null });

interface TablePost {
  readonly id: string;
  readonly text: string;
  readonly author: string | null;
}

interface TableThread {
  readonly id: string;
  readonly label: string | null;
  readonly posts: readonly TablePost[];
}

const byLook = { selector: ({ id }: { id: string }) => foldedName(id) };
const threads: fc.Arbitrary<readonly TableThread[]> = fc.uniqueArray(
  fc.record({
    id: name,
    label,
    posts: fc.uniqueArray(fc.record({ id: name, text, author: label }), { ...byLook, minLength: 1, maxLength: 4 }),
  }),
  { ...byLook, minLength: 1, maxLength: 4 },
);

const columns = ['thread', 'post_id', 'text', 'author', 'label'] as const;
type Row = Readonly<Record<(typeof columns)[number], string | null>>;

function rowsOf(all: readonly TableThread[]): Row[] {
  return all.flatMap(({ id, label, posts }) =>
    posts.map((post) => ({ thread: id, post_id: post.id, text: post.text, author: post.author, label })),
  );
}

/** What the import gives for these threads: names as they look, texts as they are. */
function expected(all: readonly TableThread[]) {
  return all.map(({ id, label, posts }) => {
    const own = posts.map((post) => ({
      id: foldedName(post.id),
      text: post.text === '\\N' ? '' : post.text,
      author: post.author === null ? null : foldedName(post.author),
    }));
    // The claim is the post that is called as the thread.
    const claim = own.find((post) => post.id === foldedName(id)) ?? own[0];
    return {
      id: foldedName(id),
      label: label === null ? null : foldedName(label),
      posts: [claim, ...own.filter((post) => post !== claim)],
    };
  });
}

function shapeOf({ id, labels, rumor, posts }: Thread) {
  const label = rumor === null ? (labels?.label ?? null) : rumor ? 'rumor' : 'non-rumor';
  return { id, label, posts: posts.map(({ id, text, author }) => ({ id, text, author })) };
}

/** As every program that writes CSV does it: quotes where they are needed, and doubled. */
function delimited(
  rows: readonly Row[],
  { delimiter, end, always }: { delimiter: string; end: string; always: boolean },
): string {
  const field = (value: string | null) => {
    const own = value ?? '';
    const needsQuotes = always || own.includes('"') || own.includes(delimiter) || /[\r\n]/.test(own);
    return needsQuotes ? `"${own.replaceAll('"', '""')}"` : own;
  };
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  return lines.map((line) => `${line.map(field).join(delimiter)}${end}`).join('');
}

async function read(path: string, format: string, table: TableImportOptions | undefined) {
  return (await collect(importThreads(format, { paths: [path], table }))).map(shapeOf);
}

describe('names and texts of a table', () => {
  const writer = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    always: fc.boolean(),
  });

  it('come back the same from CSV and TSV whose quotes the user vouches for', async () => {
    const path = temporaryFolder();
    await fc.assert(
      fc.asyncProperty(threads, writer, async (all, options) => {
        writeFiles(path, { 'a.csv': delimited(rowsOf(all), options) });
        expect(await read(`${path}/a.csv`, 'csv', { quote: '"' })).toEqual(expected(all));
      }),
      { seed: 41, numRuns: 150 },
    );
  });

  it('come back the same from CSV and TSV, or are refused with line and column', async () => {
    const path = temporaryFolder();
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(threads, writer, async (all, options) => {
        writeFiles(path, { 'a.csv': delimited(rowsOf(all), options) });
        const found = await read(`${path}/a.csv`, 'csv', undefined).catch((error: Error) => error);
        if (!(found instanceof Error)) expect(found).toEqual(expected(all));
        else {
          refused++;
          expect(found.message).toMatch(
            /a\.csv:\d+, column "\w+": a quoted field of \d+ lines contains what look like rows/,
          );
        }
      }),
      { seed: 42, numRuns: 150 },
    );
    // Whoever refuses everything would pass, too.
    expect(refused).toBeLessThan(10);
  });

  it('come back the same from tables without quotes, as far as these can carry them', async () => {
    const path = temporaryFolder();
    const unquoted = (own: string | null) => own === null || !/[\r\n\t]/.test(own);
    const carried = threads.filter((all) => rowsOf(all).every((row) => Object.values(row).every(unquoted)));
    await fc.assert(
      fc.asyncProperty(carried, fc.constantFrom('\n', '\r\n', '\r'), async (all, end) => {
        const lines = [columns, ...rowsOf(all).map((row) => columns.map((column) => row[column] ?? ''))];
        writeFiles(path, { 'a.tsv': lines.map((line) => `${line.join('\t')}${end}`).join('') });
        expect(await read(`${path}/a.tsv`, 'csv', { quote: 'none' })).toEqual(expected(all));
      }),
      { seed: 43, numRuns: 150 },
    );
  });

  it('come back the same from JSON Lines, from a list in JSON and from Parquet', async () => {
    const path = temporaryFolder();
    await fc.assert(
      fc.asyncProperty(threads, fc.constantFrom('\n', '\r\n', '\r'), async (all, end) => {
        const rows = rowsOf(all);
        const columnData = columns.map((name) => ({
          name,
          data: rows.map((row) => row[name]),
          type: 'STRING' as const,
        }));
        writeFiles(path, {
          'a.jsonl': rows.map((row) => `${JSON.stringify(row)}${end}`).join(''),
          'a.json': JSON.stringify(rows, null, 1),
          'a.parquet': Buffer.from(parquetWriteBuffer({ columnData })),
        });
        const shapes = expected(all);
        expect(await read(`${path}/a.jsonl`, 'posts', undefined)).toEqual(shapes);
        expect(await read(`${path}/a.json`, 'posts', undefined)).toEqual(shapes);
        expect(await read(`${path}/a.parquet`, 'parquet', undefined)).toEqual(shapes);
      }),
      { seed: 44, numRuns: 60 },
    );
  });

  it('are never merged or lost where quotes stray, unless the import says so', async () => {
    const path = temporaryFolder();
    const plain = text.map((own) => own.replace(/[\r\n\t]/g, ' '));
    const lines = fc.array(fc.tuple(fc.constantFrom('t1', 't2'), plain, fc.constantFrom('x', 'y')), {
      minLength: 2,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(lines, async (rows) => {
        const table = rows.map(
          ([thread, own], index) => `${thread}\tp${index}\t${own}\t${thread === 't1' ? 'x' : 'y'}\n`,
        );
        writeFiles(path, { 'a.csv': `thread\tpost_id\ttext\tlabel\n${table.join('')}` });
        const found = await read(`${path}/a.csv`, 'csv', undefined).catch((error: Error) => error);
        if (found instanceof InputError) expect(found.message).toMatch(/a\.csv:\d+(?:, column "\w+")?: /);
        else {
          const ids = (found instanceof Error ? [] : found).flatMap(({ posts }) => posts.map(({ id }) => id));
          expect(ids.toSorted()).toEqual(rows.map((_, index) => `p${index}`).toSorted());
        }
      }),
      { seed: 45, numRuns: 250 },
    );
  });
});
