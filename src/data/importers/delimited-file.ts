import { CsvError, type Parser, parse } from 'csv-parse';
import { InputError } from '../../errors.ts';
import { quoted } from '../../shell-words.ts';
import { BadItemError, orSkipNow, type SkipOptions, shortened } from '../bad-item.ts';
import { type ReadingOptions, readText } from '../text-lines.ts';

/** One row of a table with a header. */
export interface DelimitedRow {
  /** File and line, counted from 1, on which the row starts. */
  readonly place: string;
  /** The names in the first row. */
  readonly headings: readonly string[];
  /** The fields by these names; of two with one name, the last. */
  readonly value: Readonly<Record<string, string>>;
}

/** What stands between the fields of common exports. */
const delimiters = [',', '\t', ';', '|'] as const;

/**
 * The rows of a CSV or TSV file with a header, plain or gzip, one at a time. A field in double quotes may contain delimiters and
 * line breaks. A row with another number of fields than the header is a bad item.
 * @param options.delimiter found from the header where it is not given
 * @throws InputError for a file that cannot be read or holds JSON, or a bad row that is not to be skipped
 */
export async function* readDelimitedFile(path: string, options: DelimitedReading): AsyncGenerator<DelimitedRow> {
  for await (const rows of readDelimitedRows(path, options)) yield* rows;
}

interface DelimitedReading extends SkipOptions, ReadingOptions {
  readonly delimiter?: string | undefined;
}

/** The rows of `readDelimitedFile`, many at a time: in a long table, waiting for each would take longer than reading it. */
export async function* readDelimitedRows(
  path: string,
  options: DelimitedReading,
): AsyncGenerator<readonly DelimitedRow[]> {
  const text = await readText(path, options);
  const start = await text.next();
  const whole = start.done ? '' : start.value;
  // What Excel reads as a word about the file, and not as its first row.
  const [hint = '', separator] = /^\ufeff?sep=(.)\r?\n/i.exec(whole) ?? [];
  const first = whole.slice(hint.length);
  if (/^\ufeff?\s*(\{\s*"|\[\s*[[{])/.test(first))
    throw new InputError(
      `${path} holds JSON, not a table: \`earshot data import ${/"posts"\s*:\s*\[/.test(first) ? 'threads' : 'posts'} ${quoted(path)} --out threads.jsonl\` reads it`,
    );
  const parser = parse({
    bom: true,
    delimiter: options.delimiter ?? separator ?? delimiterOf(first),
    // A wrong number of fields and a quote within a field are for us to judge: tab-separated texts contain bare quotes.
    relax_column_count: true,
    relax_quotes: true,
  });
  async function* rows() {
    yield first;
    yield* text;
  }
  let names: readonly string[] | null = null;
  let line = hint === '' ? 1 : 2;
  const rowOf = (record: readonly string[]): DelimitedRow | null => {
    const place = `${path}:${line}`;
    line += linesOf(record);
    if (record.length === 1 && record[0] === '') return null;
    const headings = names;
    if (headings === null) {
      names = record.map((name) => name.trim());
      return null;
    }
    if (record.length !== headings.length)
      throw new BadItemError({
        place,
        value: `${record.length} fields: ${shortened(record)}`,
        reason: `must have ${headings.length} fields (${headings.join(', ')})`,
      });
    return { place, headings, value: Object.fromEntries(headings.map((name, index) => [name, record[index]])) };
  };
  try {
    for await (const records of parsedRecords(parser, rows()))
      yield records.flatMap((record) => orSkipNow(options, () => rowOf(record)) ?? []);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    orSkipNow(options, () => {
      throw new BadItemError({
        place: `${path}:${line}`,
        value: shortened(error.message),
        reason: error.code === 'CSV_QUOTE_NOT_CLOSED' ? 'a quoted field has no end' : 'is no row of a table',
      });
    });
  }
}

/** The records that each piece of the text completes. The parser works at once, so that nothing waits for a single one. */
async function* parsedRecords(parser: Parser, texts: AsyncIterable<string>): AsyncGenerator<string[][]> {
  let failure: Error | null = null;
  parser.on('error', (error) => {
    failure = error;
  });
  const records = (): string[][] => {
    const found: string[][] = [];
    for (let record = parser.read(); record !== null; record = parser.read()) found.push(record);
    return found;
  };
  for await (const text of texts) {
    parser.write(text);
    yield records();
    if (failure !== null) throw failure;
  }
  await new Promise<void>((resolve) => {
    parser.once('error', () => resolve());
    parser.end(resolve);
  });
  yield records();
  if (failure !== null) throw failure;
}

/** Of a record in its file: fields in quotes may contain line breaks. */
function linesOf(record: readonly string[]): number {
  let lines = 1;
  for (const field of record) if (field.includes('\n')) lines += field.split('\n').length - 1;
  return lines;
}

/** The one that occurs most often in the header, outside quotes. */
function delimiterOf(text: string): string {
  const [header] = text.replace(/"[^"]*"/g, '').split(/\r?\n/, 1);
  const count = (delimiter: string) => header.split(delimiter).length;
  return [...delimiters].sort((a, b) => count(b) - count(a))[0];
}

/** @throws InputError for a delimiter that is no single character */
export function delimiterNamed(name: string): string {
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[name] ?? name;
  if (delimiter.length === 1) return delimiter;
  throw new InputError(`--delimiter is ${JSON.stringify(name)}; it must be one character, or tab`);
}
