import { CsvError, type Parser, parse } from 'csv-parse';
import { InputError } from '../../errors.ts';
import { quoted } from '../../shell-words.ts';
import { badItem, orSkip, type SkipOptions } from '../bad-item.ts';
import { foldedName } from '../folded-name.ts';
import { aboveLimit, type ReadingOptions, readText, sizeLimit } from '../text-lines.ts';
import type { TableRow } from './table/cells.ts';

/** One row of a table with a header: the fields by heading, and the last one of equal headings. */
export interface DelimitedRow extends TableRow {
  readonly headings: readonly string[];
  readonly value: Readonly<Record<string, string>>;
}

/** Delimiters of common exports. */
const delimiters = [',', '\t', ';', '|'] as const;

interface DelimitedReading extends SkipOptions, ReadingOptions {
  /** Counts rows that are left out. */
  readonly count?: (note: string) => void;
  /** The character between fields; derived from the header by default. */
  readonly delimiter?: string | undefined;
  /**
   * The character around fields with delimiters or line breaks; null if quotes mean nothing. By default it is the
   * double quote, and a field that seems to contain rows is a bad item.
   */
  readonly quote?: string | null | undefined;
}

/**
 * Reads the rows of a CSV or TSV file with a header, plain or gzip, one at a time. A field in quotes may contain
 * delimiters and line breaks. Lines end with a line feed, a carriage return or both. A row with another number of
 * fields than the header is a bad item; one that repeats the header is left out.
 * @throws InputError for a file that cannot be read or holds JSON, a row above the limit, or a bad row that is not
 *   skipped
 */
export async function* readDelimitedFile(path: string, options: DelimitedReading): AsyncGenerator<DelimitedRow> {
  for await (const rows of readDelimitedRows(path, options)) yield* rows;
}

/** Reads rows in batches: in a long table, waiting for each row would take longer than reading it. */
export async function* readDelimitedRows(
  path: string,
  options: DelimitedReading,
): AsyncGenerator<readonly DelimitedRow[]> {
  const { quote, mostBytes = sizeLimit() } = options;
  const text = readText(path, options);
  const start = await text.next();
  const whole = start.done ? '' : start.value;
  // Excel reads such a line as a note about the file, not as its first row.
  const [hint = '', separator] = /^\ufeff?sep=(.)(?:\r\n|\r|\n)/i.exec(whole) ?? [];
  const first = whole.slice(hint.length);
  if (/^\ufeff?\s*(\{\s*"|\[\s*[[{])/.test(first))
    throw new InputError(
      `${path} holds JSON, not a table: \`earshot data import ${/"posts"\s*:\s*\[/.test(first) ? 'threads' : 'posts'} ${quoted(path)} --out threads.jsonl\` reads it`,
    );
  const delimiter = options.delimiter ?? separator ?? delimiterOf(first);
  const parser = parse({
    bom: true,
    delimiter,
    quote: quote === undefined ? '"' : quote,
    escape: quote ?? '"',
    record_delimiter: ['\n', '\r\n', '\r'],
    // Where a space follows each delimiter of the header, those of the rows belong to no field either.
    ltrim: isSpaced(first, delimiter),
    max_record_size: mostBytes,
    // Tab-separated texts contain bare quotes, so the number of fields and quotes within fields are checked here.
    relax_column_count: true,
    relax_quotes: true,
  });
  async function* rows() {
    yield first;
    yield* text;
  }
  let names: readonly string[] | null = null;
  let line = hint === '' ? 1 : 2;
  const rowOf = (fields: readonly string[]): DelimitedRow | null => {
    const record = fields.map(formulaText);
    const place = `${path}:${line}`;
    const lines = linesOf(record);
    line += lines;
    // Spreadsheets write rows below the last one that were once filled.
    if (record.every((field) => field.trim() === '')) return null;
    const headings = names;
    if (headings === null) {
      names = record.map(foldedName);
      return null;
    }
    const swallowing =
      lines > 1 && quote === undefined ? record.find((field) => swallowsRows(field, record, delimiter)) : undefined;
    if (swallowing !== undefined) {
      const column = record.indexOf(swallowing);
      throw badItem(swallowing, {
        place: `${place}, column ${JSON.stringify(headings[column] ?? column + 1)}`,
        reason: `a quoted field of ${linesOf([swallowing])} lines contains what look like rows; if quotes belong to the texts, read the file with --quote none; if the field does hold these lines, with --quote '"'`,
      });
    }
    const escaped = quote === undefined ? record.find((field) => /^".*\\".*"$/s.test(field)) : undefined;
    if (escaped !== undefined)
      throw badItem(escaped, {
        place,
        reason:
          'a quoted field has quotes behind a backslash, and a table doubles them; write "" instead of \\", or read the file with --quote none',
      });
    if (record.length !== headings.length)
      throw badItem(record, {
        place,
        reason: `must have ${headings.length} fields (${headings.join(', ')}), and has ${record.length}`,
      });
    if (headings.includes(foldedName(record[0])) && isHeaderAgain(record, { place, headings })) {
      options.count?.('# rows repeat the header, as where files were put together, and were left out');
      return null;
    }
    return { place, headings, value: Object.fromEntries(headings.map((name, index) => [name, record[index]])) };
  };
  try {
    for await (const records of parseRecords(parser, rows()))
      yield records.flatMap((record) => orSkip(options, () => rowOf(record)) ?? []);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const advice = quote === undefined ? '; if quotes belong to the texts, read the file with --quote none' : '';
    if (error.code === 'CSV_MAX_RECORD_SIZE')
      throw new InputError(`${path}:${line}: the row ${aboveLimit(options)} and for a quote without an end${advice}`);
    orSkip(options, () => {
      throw badItem(error.message, {
        place: `${path}:${line}`,
        reason:
          error.code === 'CSV_QUOTE_NOT_CLOSED'
            ? `a quoted field has no end, so that everything behind the beginning of this row would be in it${advice}`
            : 'is no row of a table',
      });
    });
  }
}

/** The text of a field that is a formula of one text, `="0123"`, by which spreadsheets keep an id whole. */
function formulaText(field: string): string {
  const text = /^="((?:[^"]|"")*)"$/.exec(field)?.[1];
  return text === undefined ? field : text.replaceAll('""', '"');
}

const lineBreak = /\r\n|\r|\n/;

/**
 * Whether a field would contain rows if its quotes meant nothing: in a table without quotes, a text that begins with one
 * extends to the next. Texts of several lines may look similar, so a line counts only if it has as many fields as the
 * record, and at least half of the comparable ones are of the same kind.
 */
function swallowsRows(field: string, record: readonly string[], delimiter: string): boolean {
  if (!lineBreak.test(field)) return false;
  const column = record.indexOf(field);
  const lines = field.split(lineBreak);
  return lines.some((line, index) => {
    const before = index === 0 ? column : 0;
    const after = index === lines.length - 1 ? record.length - column - 1 : 0;
    const cells = line.split(delimiter);
    if (before + cells.length + after !== record.length) return false;
    // Fields within the record itself are always alike.
    const compared = cells.flatMap((cell, place) => {
      const other = record[before + place];
      const isText = before + place === column;
      return isText || cell.trim() === '' || other.trim() === '' ? [] : [kindOf(cell) === kindOf(other)];
    });
    const alike = compared.filter(Boolean).length;
    return alike > 0 && alike * 2 >= compared.length;
  });
}

/** A number with more digits is an id, not a count. */
const mostOfCount = 7;

/** The kinds of a cell's characters, such as letters, digits and hyphens, and whether it has outer spaces. */
function kindOf(cell: string): string {
  if (/^\d+$/.test(cell)) return cell.length > mostOfCount ? 'long number' : 'number';
  const sorts = cell.replace(/\p{L}+/gu, 'a').replace(/\p{N}+/gu, '9');
  return [cell === cell.trim() ? '' : ' ', ...[...new Set(sorts)].sort()].join('');
}

/** Whether a row repeats the header. @throws InputError for another order, which changes what the rows mean */
function isHeaderAgain(
  record: readonly string[],
  { place, headings }: { place: string; headings: readonly string[] },
): boolean {
  const names = record.map(foldedName);
  if (names.every((name, index) => name === headings[index])) return true;
  const different = new Set(names);
  if (different.size < 2 || different.size !== new Set(headings).size || !headings.every((name) => different.has(name)))
    return false;
  throw new InputError(
    `${place}: a second header has its columns in another order (${names.join(', ')}) than the first (${headings.join(', ')}); split the file there and give both parts`,
  );
}

/** The records of each piece of text. The parser is synchronous, so nothing waits for a single record. */
async function* parseRecords(parser: Parser, texts: AsyncIterable<string>): AsyncGenerator<string[][]> {
  let failure: Error | null = null;
  parser.on('error', (error) => {
    failure = error;
  });
  const records = (): string[][] => {
    const rows: string[][] = [];
    for (let record = parser.read(); record !== null; record = parser.read()) rows.push(record);
    return rows;
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

/** The lines of a record in its file: fields in quotes may contain line breaks. */
function linesOf(record: readonly string[]): number {
  let lines = 1;
  for (const field of record) if (lineBreak.test(field)) lines += field.split(lineBreak).length - 1;
  return lines;
}

/** The delimiter that occurs most often in the header, outside quotes. */
function delimiterOf(text: string): string {
  const [header] = text.replace(/"[^"]*"/g, '').split(/[\r\n]/, 1);
  const count = (delimiter: string) => header.split(delimiter).length;
  return [...delimiters].sort((a, b) => count(b) - count(a))[0];
}

function isSpaced(text: string, delimiter: string): boolean {
  const [, ...further] = text.split(/[\r\n]/, 1)[0].split(delimiter);
  return further.length > 0 && further.every((name) => /^ \S/.test(name));
}

/** @throws InputError for a delimiter of several characters */
export function delimiterNamed(name: string): string {
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const delimiter = named[name] ?? name;
  if (delimiter.length === 1) return delimiter;
  throw new InputError(`--delimiter is ${JSON.stringify(name)}; it must be one character, or tab`);
}

/** @throws InputError for a quote of several characters */
export function quoteNamed(name: string): string | null {
  if (name === 'none') return null;
  if (name.length === 1) return name;
  throw new InputError(`--quote is ${JSON.stringify(name)}; it must be one character, or none`);
}
