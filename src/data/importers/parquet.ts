import { open } from 'node:fs/promises';
import type { AsyncBuffer, FileMetaData, SchemaElement } from 'hyparquet';
import { InputError } from '../../errors.ts';
import { jsonOrUndefined, withWholeIntegers } from '../../json.ts';
import { assertFile } from '../text-lines.ts';
import type { Importer } from './importer.ts';
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
    const { parquetMetadataAsync, parquetSchema } = await import('hyparquet');
    const { compressors } = await import('hyparquet-compressors');
    const { bytesOf, checkPages } = await import('./parquet-pages.ts');
    async function* tables(): AsyncGenerator<PostTable> {
      for (const path of paths) {
        await assertFile(path);
        const handle = await open(path);
        try {
          const file = await bytesOf(handle);
          const { metadata, columns } = await orInputError(path, async () => {
            const metadata = await parquetMetadataAsync(file);
            await checkPages(file, { ...metadata, compressors });
            return { metadata, columns: parquetSchema(metadata).children.map(({ element }) => element) };
          });
          const headings = columns.map(({ name }) => name);
          yield { source: path, headings, rows: rowsOf(file, { path, ...exactColumns(metadata, columns) }) };
        } finally {
          await handle.close();
        }
      }
    }
    yield* threadsOfTables(tables(), options);
  },
};

async function* rowsOf(
  file: AsyncBuffer,
  { path, metadata, parsers, correct }: { path: string } & ReturnType<typeof exactColumns>,
): AsyncGenerator<readonly TableRow[]> {
  const { parquetReadObjects } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const rows = Number(metadata.num_rows);
  for (let start = 0; start < rows; start += rowsAtOnce) {
    const rowEnd = Math.min(rows, start + rowsAtOnce);
    const chunk = await orInputError(path, async () =>
      (await parquetReadObjects({ file, metadata, parsers, compressors, rowStart: start, rowEnd })).map(correct),
    );
    if (chunk.length < rowEnd - start)
      throw new InputError(
        `${path} breaks off after row ${start + chunk.length} of ${rows}; write it again, or import it as CSV`,
      );
    yield chunk.map((value, index) => ({ place: `${path} row ${start + index + 1}`, value }));
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

/** Converts a column's values; null for a column that needs no conversion. */
type ColumnReader = ((value: unknown) => unknown) | null;

/**
 * Reads values exactly that the library rounds or mistakes: decimals keep their digits, times of a day are texts, and
 * times without a zone in the file name none.
 * @param columns the columns of the table, which are elements of the schema
 * @returns the schema for the library, and the conversion of each column's values
 */
function exactColumns(metadata: FileMetaData, columns: readonly SchemaElement[]) {
  const readers = new Map(columns.map((element) => [element.name, readerOf(element)]));
  const decimals = new Set(columns.filter(isDecimal));
  const schema = metadata.schema.map((element) => (decimals.has(element) ? plainElement(element) : element));
  const read = [...readers].flatMap(([name, reader]) => (reader === null ? [] : [[name, reader] as const]));
  return {
    metadata: { ...metadata, schema },
    parsers: { jsonFromBytes: (bytes: Uint8Array) => bytes, stringFromBytes: textOrBytes },
    /** Replaces a row's values by the exact ones. */
    correct(row: Record<string, unknown>): Record<string, unknown> {
      for (const [name, reader] of read)
        if (row[name] !== null && row[name] !== undefined) row[name] = reader(row[name]);
      return row;
    },
  };
}

/** Keeps a byte order mark. Bytes that are no text stay bytes, which no field takes. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOrBytes(bytes: Uint8Array | undefined): unknown {
  if (bytes === undefined) return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    return bytes;
  }
}

function readerOf(element: SchemaElement): ColumnReader {
  const { converted_type: converted, logical_type: logical } = element;
  if (isDecimal(element)) return (value) => decimalText(value, element.scale ?? 0);
  if (converted === 'JSON' || logical?.type === 'JSON')
    return (value) => {
      const text = value instanceof Uint8Array ? textOrBytes(value) : value;
      return typeof text === 'string' ? (jsonOrUndefined(withWholeIntegers(text)) ?? text) : text;
    };
  if (converted === 'DATE' || logical?.type === 'DATE') return (value) => timeText(value, 'YYYY-MM-DD'.length);
  if (logical?.type === 'TIME') {
    const end = logical.isAdjustedToUTC ? undefined : -1;
    const perMillisecond = { MILLIS: 1, MICROS: 1e3, NANOS: 1e6 }[logical.unit];
    return (value) => timeText(new Date(Number(value) / perMillisecond), end);
  }
  if (logical?.type === 'TIMESTAMP' && !logical.isAdjustedToUTC) return (value) => timeText(value, -1);
  if (converted === 'UINT_64') return (value) => (typeof value === 'bigint' ? BigInt.asUintN(64, value) : value);
  return null;
}

function isDecimal({ converted_type, logical_type }: SchemaElement): boolean {
  return converted_type === 'DECIMAL' || logical_type?.type === 'DECIMAL';
}

/** An element whose values are read as stored; as bytes if they would become texts. */
function plainElement(element: SchemaElement): SchemaElement {
  const isText = element.type === 'BYTE_ARRAY';
  return { ...element, converted_type: isText ? 'JSON' : undefined, logical_type: undefined };
}

function decimalText(value: unknown, scale: number): string {
  const whole =
    value instanceof Uint8Array
      ? signedInteger(value)
      : BigInt(Number.isInteger(value) ? Number(value) : String(value));
  const digits = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return `${whole < 0n ? '-' : ''}${digits.slice(0, point)}${fraction === '' ? '' : `.${fraction}`}`;
}

function signedInteger(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = value * 256n + BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, value);
}

/** The beginning of a time in ISO 8601; null for an invalid time. */
function timeText(value: unknown, end: number | undefined): string | null {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString().slice(0, end) : null;
}
