import { delimiterNamed, quoteNamed, readDelimitedRows } from './delimited-file.ts';
import type { Importer } from './importer.ts';
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
      for (const path of paths) yield { source: path, rows: readDelimitedRows(path, { ...options, ...form }) };
    }
    yield* threadsOfTables(tables(), options);
  },
};
