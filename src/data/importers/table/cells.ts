import { BadItemError, shortened } from '../../bad-item.ts';

/** One row of a table of posts, whatever file it came from. */
export interface TableRow {
  /** File and line, or file and row, counted from 1. */
  readonly place: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** What tables write where there is nothing. */
const nothing: ReadonlySet<string> = new Set(['', 'nan', 'null', 'none', 'na', 'n/a', 'nat', '<na>']);

const longestNothing = Math.max(...[...nothing].map(({ length }) => length));

/** The text of a cell as it stands; '' for none. */
export function rawText(row: TableRow, column: string): string {
  const value = row.value[column];
  return value === null || value === undefined ? '' : textOf(value, { row, column });
}

/** A cell as short text; null where it holds nothing. */
export function cellText(row: TableRow, column: string): string | null {
  const text = rawText(row, column).trim();
  return text.length <= longestNothing && nothing.has(text.toLowerCase()) ? null : text;
}

/**
 * An id. Spreadsheets and pandas make numbers of ids, and those of tweets do not survive that. Of Reddit's full names, such as
 * t1_abc, the prefix says only of what kind a thing is.
 * @throws BadItemError for an id that has lost digits
 */
export function cellId(row: TableRow, column: string): string | null {
  const text = cellText(row, column);
  if (text === null) return null;
  const isNumber = typeof row.value[column] === 'number' || /^\d+\.0*$/.test(text);
  if (/^[+-]?\d+(\.\d+)?e[+-]?\d+$/i.test(text) || (isNumber && !Number.isSafeInteger(Number(text))))
    throw badCell(row, column, 'is an id that has lost digits: write ids as text (in pandas, dtype=str)');
  // 123.0 is what pandas makes of 123 in a column with gaps.
  return text.replace(/^(\d+)\.0*$/, '$1').replace(/^t[13]_(?=[a-z0-9]{5,}$)/, '');
}

/** For a cell that cannot be used. */
export function badCell(row: TableRow, column: string, reason: string): BadItemError {
  return new BadItemError({
    place: `${row.place}, column ${JSON.stringify(column)}`,
    value: shortened(shownValue(row.value[column])),
    reason,
  });
}

function textOf(value: unknown, { row, column }: { row: TableRow; column: string }): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  // Telegram writes a text with links as a list of its pieces.
  if (Array.isArray(value)) return value.map((piece: unknown) => textOf(piece, { row, column })).join('');
  if (typeof value === 'object' && value !== null && 'text' in value) return textOf(value.text, { row, column });
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  throw badCell(row, column, 'must be text, a number, a time or true or false');
}

/** JSON knows no big integers. */
function shownValue(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
