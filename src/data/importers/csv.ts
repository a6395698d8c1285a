import { delimiterNamed, quoteNamed, readDelimitedRows } from './delimited-file.ts';
import type { Importer } from './importer.ts';
import type { TableRow } from './table/cells.ts';
import { type PostTable, threadsOfTables } from './table/threads-of-tables.ts';

/** A table of posts as text. */
export const csvImporter: Importer = {
  name: 'csv',
  description:
    'a table with a row for each post, from a spreadsheet, a database or pandas; columns are found by common names',
  expects: 'one or more .csv or .tsv files, plain or gzip, with a header',
  takes: ['table', 'encoding', 'nulls'],
  async *read(paths, options) {
    const { delimiter, quote } = options.table ?? {};
    const form = {
      delimiter: delimiter === undefined ? undefined : delimiterNamed(delimiter),
      quote: quote === undefined ? undefined : quoteNamed(quote),
    };
    async function* tables(): AsyncGenerator<PostTable> {
      for (const path of paths) {
        const rows = readDelimitedRows(path, { ...options, ...form });
        let first = await rows.next();
        while (!first.done && first.value.length === 0) first = await rows.next();
        if (first.done) continue;
        const beginning = first.value;
        async function* all(): AsyncGenerator<readonly TableRow[]> {
          yield beginning;
          yield* rows;
        }
        yield { source: path, headings: beginning[0].headings, rows: all() };
      }
    }
    yield* threadsOfTables(tables(), options);
  },
};
