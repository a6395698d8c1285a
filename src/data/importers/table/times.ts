import type { NothingRules } from '../nothing.ts';
import { readTime, type TimeReading } from '../read-time.ts';
import { badCell, cellText, type TableRow } from './cells.ts';

export interface TimeOptions extends TimeReading {
  readonly rules: NothingRules;
  /** Whether 0 means no time. */
  readonly isZeroNothing?: boolean;
  /** Called for each time that names no zone and is taken for UTC. */
  readonly onWithoutZone: () => void;
  /** Called for each 0 that means no time. */
  readonly onZero?: () => void;
}

/** A cell's time as ISO 8601 in UTC; null if it means nothing. @throws BadItemError for an unreadable time */
export function cellTime(row: TableRow, column: string, options: TimeOptions): string | null {
  const text = cellText(row, column, options.rules);
  if (text === null) return null;
  if (options.isZeroNothing && /^-?0+(\.0*)?$/.test(text)) {
    options.onZero?.();
    return null;
  }
  const read = readTime(text, options);
  if (typeof read === 'string') throw badCell(row, column, read);
  if (!read.hasZone) options.onWithoutZone();
  return read.time;
}

/** More seconds than a thread lasts, and less than any day or time as one number. */
const mostOffset = 1e7;

/** The meaning of the numbers in a column of times, if it is clear. */
export function numbersAmong(times: readonly string[]): { areOffsets: boolean; isZeroNothing: boolean } {
  const numbers = times.filter((time) => /^-?\d+(\.\d+)?$/.test(time)).map(Number);
  const areSmall = numbers.length > 0 && numbers.every((number) => Math.abs(number) < mostOffset);
  const isCalendar = (number: number) =>
    (number >= 1900 && number <= 2100) || (number >= 190_001 && number <= 210_012 && number % 100 <= 12);
  return {
    areOffsets: areSmall && !numbers.every((number) => number === 0 || isCalendar(number)),
    isZeroNothing: numbers.some((number) => number >= mostOffset),
  };
}

/** Whether all times are days since 1900, as in spreadsheets, of the years 2000 to 2099. Offsets would begin with 0. */
export function areSpreadsheetDays(times: readonly string[]): boolean {
  return (
    times.length > 0 &&
    times.every((time) => /^\d{5}(\.\d+)?$/.test(time) && Number(time) >= 36_526 && Number(time) < 73_051)
  );
}
