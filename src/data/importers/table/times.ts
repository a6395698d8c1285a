import { createdTime } from '../twitter-post.ts';
import { badCell, cellText, type TableRow } from './cells.ts';

/** Which comes first in a date such as 03/04/2024. */
export type DateOrder = 'dmy' | 'mdy';

export interface TimeOptions {
  /** Null: a date that could be either is an error. */
  readonly dateOrder: DateOrder | null;
  /** Called for each time that names no zone and is taken for UTC. */
  readonly onWithoutZone: () => void;
}

const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;
const withSlashes =
  /^(\d{1,2})[/.](\d{1,2})[/.](\d{4})(?:[ ,T]+(\d{1,2})(:\d{2}(?::\d{2})?)(?:\s*([AP])M)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;
/** Such as Sat Aug 09 22:33:06 +0000 2014. */
const twitterTime = /^\w{3} \w{3} \d{2} [\d:]{8} [+-]\d{4} \d{4}$/;
/** Such as Sat, 09 Aug 2014 22:33:06 +0000: the month has a name and the zone is there. */
const withMonthName = /[a-z]{3}.*\d{4}.*(GMT|UTC|Z|[+-]\d{4})$/i;

/**
 * The time in a cell as ISO 8601 in UTC: ISO 8601, Unix seconds, milliseconds or microseconds, the form of Twitter's API, or a date
 * with slashes or dots. Null where the cell is empty.
 * @throws BadItemError for anything else, and for a date whose day and month could change places
 */
export function cellTime(row: TableRow, column: string, { dateOrder, onWithoutZone }: TimeOptions): string | null {
  const text = cellText(row, column);
  if (text === null) return null;
  const cell = { row, column };
  if (/^-?\d+(\.\d+)?$/.test(text)) return isoTime(milliseconds(Number(text)), cell);
  const [, isoDay, isoClock, isoZone] = iso.exec(text) ?? [];
  if (isoDay !== undefined) return timeInZone({ day: isoDay, clock: isoClock, zone: isoZone }, { cell, onWithoutZone });
  const parts = withSlashes.exec(text);
  if (parts !== null) {
    const [, first, second, year, hour, minutes, half, zone] = parts;
    const clock = hour && `${half ? (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0) : hour}${minutes}`;
    const order = orderOf(Number(first), Number(second)) ?? dateOrder;
    if (order === null)
      throw badCell(
        row,
        column,
        `could be the ${first}. of month ${second} or the ${second}. of month ${first}; say which with --date-order dmy or mdy`,
      );
    const [day, month] = order === 'dmy' ? [first, second] : [second, first];
    const padded = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
    return timeInZone({ day: padded, clock, zone }, { cell, onWithoutZone });
  }
  if (twitterTime.test(text)) return createdTime(text);
  if (withMonthName.test(text)) return isoTime(text, cell);
  throw badCell(row, column, expected);
}

interface Cell {
  readonly row: TableRow;
  readonly column: string;
}

function isoTime(time: string | number, { row, column }: Cell): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999) throw badCell(row, column, expected);
  return date.toISOString();
}

function timeInZone(
  { day, clock, zone }: { day: string; clock: string | undefined; zone: string | undefined },
  { cell, onWithoutZone }: { cell: Cell; onWithoutZone: () => void },
): string {
  if (!isDay(day)) throw badCell(cell.row, cell.column, 'is on a day that its month does not have');
  if (zone === undefined) onWithoutZone();
  const padded = (clock ?? '00:00').padStart(
    clock?.includes(':') && clock.indexOf(':') === 1 ? clock.length + 1 : 0,
    '0',
  );
  return isoTime(`${day}T${padded}${zone === undefined || /^utc$/i.test(zone) ? 'Z' : zone.toUpperCase()}`, cell);
}

const expected = 'must be a time: ISO 8601 such as 2014-08-09T22:33:06Z, or Unix seconds or milliseconds';

/**
 * Whether all times of a column are days since 1900, as spreadsheets keep them, of the years 2000 to 2099. Seconds since a claim
 * begin with 0.
 */
export function areSpreadsheetDays(times: readonly string[]): boolean {
  return (
    times.length > 0 &&
    times.every((time) => /^\d{5}(\.\d+)?$/.test(time) && Number(time) >= 36_526 && Number(time) < 73_051)
  );
}

/** Where one number is above 12 there is no doubt; nor where both are the same. */
function orderOf(first: number, second: number): DateOrder | null {
  if (first > 12 || first === second) return 'dmy';
  return second > 12 ? 'mdy' : null;
}

/** Whether it is in the calendar: of 2024-02-30, `Date` makes the first of March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().startsWith(day);
}

/** By size: seconds until the year 5138, then milliseconds, then microseconds, then nanoseconds, as pandas keeps them. */
function milliseconds(number: number): number {
  const size = Math.abs(number);
  if (size < 1e11) return number * 1000;
  if (size < 1e14) return number;
  return size < 1e17 ? number / 1000 : number / 1_000_000;
}
