import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import { InputError } from '../../errors.ts';
import { assertFile } from '../text-lines.ts';
import type { Importer } from './importer.ts';
import { exactColumns } from './parquet-columns.ts';
import type { TableRow } from './table/cells.ts';
import { type PostTable, threadsOfTables } from './table/threads-of-tables.ts';

/** Rows in memory at a time, besides the threads that they make. */
const rowsAtOnce = 10_000;

/** A table of posts as Parquet. */
export const parquetImporter: Importer = {
  name: 'parquet',
  description: 'the same as Parquet, from pandas, Polars, DuckDB or Spark, whatever its compression',
  expects: 'one or more .parquet files',
  takes: ['table', 'nulls'],
  async *read(paths, options) {
    const { parquetSchema } = await import('hyparquet');
    async function* tables(): AsyncGenerator<PostTable> {
      for (const path of paths) {
        await assertFile(path);
        const { file, metadata } = await openParquet(path);
        const columns = parquetSchema(metadata).children.map(({ element }) => element);
        const headings = columns.map(({ name }) => name);
        yield { source: path, headings, rows: rowsOf(file, { path, ...exactColumns(metadata, columns) }) };
      }
    }
    yield* threadsOfTables(tables(), options);
  },
};

async function openParquet(path: string): Promise<{ file: AsyncBuffer; metadata: FileMetaData }> {
  const { asyncBufferFromFile, parquetMetadataAsync } = await import('hyparquet');
  const file = await asyncBufferFromFile(path);
  return { file, metadata: await orInputError(path, () => parquetMetadataAsync(file)) };
}

async function* rowsOf(
  file: AsyncBuffer,
  { path, metadata, parsers, correct }: { path: string } & ReturnType<typeof exactColumns>,
): AsyncGenerator<readonly TableRow[]> {
  const { parquetReadObjects } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const rows = Number(metadata.num_rows);
  for (let start = 0; start < rows; start += rowsAtOnce) {
    const rowEnd = Math.min(rows, start + rowsAtOnce);
    const chunk = await orInputError(path, () =>
      parquetReadObjects({ file, metadata, parsers, compressors, rowStart: start, rowEnd }),
    );
    if (chunk.length < rowEnd - start)
      throw new InputError(
        `${path} breaks off after row ${start + chunk.length} of ${rows}; write it again, or import it as CSV`,
      );
    yield chunk.map((value, index) => ({ place: `${path} row ${start + index + 1}`, value: correct(value) }));
  }
}

/** Turns an error of the library into one about the file. */
async function orInputError<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new InputError(
      `${path} cannot be read as Parquet: ${error instanceof Error ? error.message : String(error)}; write it again, or import it as CSV`,
      { cause: error },
    );
  }
}
