import { InputError } from '../../../errors.ts';
import type { ImportContext } from '../importer.ts';
import { noteOnZones, readTime } from '../read-time.ts';
import { badCell, cellText, type TableRow } from './cells.ts';

/** More seconds than a thread lasts, and less than any day or time as one number. */
const mostOffset = 1e7;

/**
 * Makes a reader of a column of times as ISO 8601 in UTC. The first rows determine what numbers mean: seconds since
 * some beginning, or since 1970, where 0 is no time.
 * @throws InputError for days as a spreadsheet counts them; later, BadItemError for an unreadable time
 */
export function timeReader(
  column: string,
  { source, first, options }: { source: string; first: readonly TableRow[]; options: ImportContext },
): (row: TableRow) => string | null {
  const { rules, count, warn, table } = options;
  const times = first.flatMap((row) => cellText(row, column, { words: rules.words }) ?? []);
  if (areSpreadsheetDays(times))
    throw new InputError(
      `${source}, column ${JSON.stringify(column)}: the times are days as a spreadsheet counts them, such as ${times[0]}; give the column a format of date and time there, and export it again`,
    );
  const numbers = times.filter((time) => /^-?\d+(\.\d+)?$/.test(time)).map(Number);
  const areSmall = numbers.length > 0 && numbers.every((number) => Math.abs(number) < mostOffset);
  const areOffsets = areSmall && !numbers.every((number) => number === 0 || isCalendar(number));
  const isZeroNothing = numbers.some((number) => number >= mostOffset);
  const reading = { areOffsets, dateOrder: table?.dateOrder ?? null };
  return (row) => {
    const text = cellText(row, column, rules);
    if (text === null) return null;
    if (isZeroNothing && /^-?0+(\.0*)?$/.test(text)) {
      warn('# times are 0, which lies before 1990; they are read as no time');
      return null;
    }
    const read = readTime(text, reading);
    if (typeof read === 'string') throw badCell(row, column, read);
    if (!read.hasZone) count(noteOnZones);
    return read.time;
  };
}

/** Whether a number may be a year, or a year and month. */
function isCalendar(number: number): boolean {
  return (number >= 1900 && number <= 2100) || (number >= 190_001 && number <= 210_012 && number % 100 <= 12);
}

/** Whether all times are days since 1900, as in spreadsheets, of the years 2000 to 2099. Offsets would begin with 0. */
function areSpreadsheetDays(times: readonly string[]): boolean {
  return (
    times.length > 0 &&
    times.every((time) => /^\d{5}(\.\d+)?$/.test(time) && Number(time) >= 36_526 && Number(time) < 73_051)
  );
}
