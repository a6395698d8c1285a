import { entryOf } from '../../../entry-of.ts';
import { InputError } from '../../../errors.ts';
import { quoted } from '../../../shell-words.ts';
import { type BadItemError, badItem } from '../../bad-item.ts';
import { foldedName } from '../../folded-name.ts';
import { isNothing, mayMeanNothing, type NothingRules } from '../nothing.ts';

/** One row of a table of posts, from any kind of file. */
export interface TableRow {
  /** File and line, or file and row, counted from 1. */
  readonly place: string;
  /** The names in the first row of the table, if it has such a row. */
  readonly headings?: readonly string[];
  readonly value: Readonly<Record<string, unknown>>;
}

/** The text of a cell unchanged; '' without one. */
export function rawText(row: TableRow, column: string, rules: NothingRules): string {
  const text = storedText(row, column);
  // In running text, a word that the user chose for nothing is a word.
  return text === '\\N' && isNothing(text, { column, rules }) ? '' : text;
}

/** A cell as a name, a label or another short text, folded; null if it means nothing. */
export function cellText(row: TableRow, column: string, rules: NothingRules): string | null {
  const value = entryOf(row.value, column);
  if (Array.isArray(value) && value.length > 1) throw badCell(row, column, 'is a list; give one value');
  const text = foldedName(storedText(row, column));
  return isNothing(text, { column, rules }) ? null : text;
}

/**
 * An id. Spreadsheets and pandas make numbers of ids, which damages those of tweets. In Reddit's full names, such as
 * t1_abc, the prefix is only the kind of the thing.
 * @throws BadItemError for an id that has lost digits
 */
export function cellId(row: TableRow, column: string, rules: NothingRules): string | null {
  const text = cellText(row, column, rules);
  if (text === null) return null;
  const isNumber = typeof row.value[column] === 'number' || /^\d+\.0*$/.test(text);
  // With neither a point nor a sign, an e is a digit of a hexadecimal id.
  if (/^[+-]?\d+(\.\d+e[+-]?|e[+-])\d+$/i.test(text) || (isNumber && !Number.isSafeInteger(Number(text))))
    throw badCell(row, column, 'is an id that has lost digits: write ids as text (in pandas, dtype=str)');
  // In a column with gaps, pandas turns 123 into 123.0.
  return text.replace(/^(\d+)\.0*$/, '$1').replace(/^t[13]_(?=[a-z0-9]{5,}$)/, '');
}

/** The error for a cell that cannot be used. */
export function badCell(row: TableRow, column: string, reason: string): BadItemError {
  const value = entryOf(row.value, column) ?? null;
  const advice =
    typeof value === 'string' && mayMeanNothing(value.trim())
      ? `; if it means that there is nothing, add --null ${quoted(value.trim())}`
      : '';
  return badItem(value, { place: `${row.place}, column ${JSON.stringify(column)}`, reason: `${reason}${advice}` });
}

function storedText(row: TableRow, column: string): string {
  const value = entryOf(row.value, column);
  return value === null || value === undefined ? '' : textOf(value, { row, column });
}

function textOf(value: unknown, { row, column }: { row: TableRow; column: string }): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isNaN(value) ? '' : String(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  // Telegram writes a text with links as a list of its pieces.
  if (Array.isArray(value)) return value.map((piece: unknown) => textOf(piece, { row, column })).join('');
  if (typeof value === 'object' && value !== null && 'text' in value) return textOf(value.text, { row, column });
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  throw badCell(row, column, 'must be text, a number, a time or true or false');
}

const mostListed = 40;

/** Shortens lists, because exports of platforms have hundreds of nested names. */
export function listed(names: readonly string[]): string {
  const rest = names.length - mostListed;
  return rest <= 0 ? names.join(', ') : `${names.slice(0, mostListed).join(', ')} and ${rest} more`;
}

/** Digits of a number that spreadsheets keep, and that programs show. */
const keptDigits = [15, 16, 17];

/** Zeros in total that cannot be chance. */
const leastZeros = 6;

/** Detects ids that lost their last digits to a program that took them for numbers: all long ones end in zeros. */
export function roundedIds({ source, column }: { source: string; column: string | undefined }) {
  let possible: readonly number[] = keptDigits;
  const long = new Set<string>();
  return {
    add(id: string | null): void {
      if (possible.length === 0 || id === null || id.length <= keptDigits[0] || !/^\d+$/.test(id)) return;
      long.add(id);
      possible = possible.filter((digits) => /^0*$/.test(id.slice(digits)));
      if (possible.length === 0) long.clear();
    },
    /** @throws InputError for such ids */
    refuse(): void {
      const zerosBehind = (from: number) => [...long].reduce((sum, { length }) => sum + Math.max(0, length - from), 0);
      if (!possible.some((digits) => zerosBehind(digits) >= leastZeros)) return;
      const [first] = long;
      throw new InputError(
        `${source}, column ${JSON.stringify(column)}: the last digits of the ids are gone, for every long one ends in zeros, such as ${first}. A spreadsheet or a program has read them as numbers; export them again as text`,
      );
    },
  };
}
