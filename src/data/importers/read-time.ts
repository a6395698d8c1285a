import { badItem } from '../bad-item.ts';
import { isDay, isoMilliseconds, noSuchDay } from '../iso-time.ts';

/** The order of day and month in a date such as 03/04/2024. */
export type DateOrder = 'dmy' | 'mdy';

/** A time of a foreign file as ISO 8601 in UTC. */
export interface ForeignTime {
  readonly time: string;
  /** False if the time was taken for UTC. */
  readonly hasZone: boolean;
}

/**
 * A source's time as ISO 8601 in UTC; null for an empty one. Small numbers are seconds since some beginning.
 * @param at.count counts the times without a zone
 * @throws BadItemError for an unreadable time
 */
export function foreignTime(
  value: string | number | null | undefined,
  { place, count }: { place: string; count?: ((note: string) => void) | undefined },
): string | null {
  if (value === null || value === undefined || value === '') return null;
  const read = readTime(String(value).trim(), { areOffsets: true });
  if (typeof read === 'string') throw badItem(value, { place, reason: read });
  if (!read.hasZone) count?.(noteOnZones);
  return read.time;
}

/** The note about times without a zone; # is their number. */
export const noteOnZones = '# times name no zone and are taken for UTC; write +02:00 or so behind them if not';

export interface TimeReading {
  /** Null, the default, makes a date that could be either a problem. */
  readonly dateOrder?: DateOrder | null;
  /** Whether small numbers are seconds since some beginning, so that 2020 is not a year. */
  readonly areOffsets?: boolean;
}

/**
 * Reads a time as people and programs write it: ISO 8601 and similar forms with the year first, days and times as one
 * number such as 20240301, Unix seconds, milliseconds, microseconds or nanoseconds, dates with the name of a month, and
 * dates with the year last.
 * @returns the time, or the reason why it cannot be read
 */
export function readTime(text: string, reading: TimeReading = {}): ForeignTime | string {
  const ms = isoMilliseconds(text);
  if (ms !== null) return { time: new Date(ms).toISOString(), hasZone: true };
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return numberTime(text, reading);
  // After an offset, JavaScript and Go write the name of the zone, Java its place.
  const plain = text
    .replace(/\s+/g, ' ')
    .replace(/ ?\([^()]*\)$|\[[\w/+-]+\]$/, '')
    .replace(/([+-]\d{4}) [A-Z]{1,5}(?: m=\S+)?$/, '$1');
  for (const form of forms) {
    const match = form.exec(plain);
    if (match !== null) return partsTime(match.groups ?? {}, reading);
  }
  const [, zone] = /\d ?([A-Z]{2,5})$/i.exec(plain) ?? [];
  if (zone !== undefined && readTime(plain.slice(0, -zone.length).trim(), reading) instanceof Object)
    return `names the zone ${zone}, which may be several; write its offset, such as +01:00`;
  return noTime;
}

const noTime = 'must be a time: ISO 8601 such as 2014-08-09T22:33:06Z, or Unix seconds or milliseconds';

/** The parts of a time by name: a day of the calendar, or two numbers whose order is not yet known, and a clock. */
type Groups = Readonly<Record<string, string | undefined>>;

const clock = String.raw`(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<seconds>\d\d)(?:[.,](?<fraction>\d+))?)?(?: ?(?<half>[ap])\.?m\.?)?`;
const basicClock = String.raw`(?<hour>\d\d)(?:(?<minute>\d\d)(?:(?<seconds>\d\d)(?:[.,](?<fraction>\d+))?)?)?`;
const zone = String.raw`(?<zone>Z|(?:UTC|GMT)?(?:[+\u2212-]\d{1,2}(?::?\d\d)?)|UTC|GMT)`;
const weekday = '(?:[a-z]{3,9},? )?';
/** Without Finland's November, the only name of a month that begins like another one in English. */
const month = String.raw`(?<name>(?!marras)[a-z]{3,9})\.?`;
const dayOfMonth = String.raw`(?<day>\d{1,2})(?:st|nd|rd|th)?`;

function form(text: string): RegExp {
  return new RegExp(`^${text}$`, 'i');
}

const forms: readonly RegExp[] = [
  // 2024-03-05T10:00:00.5+01:00, 2024/3/5 10:00, 2024.03.05
  form(`(?<year>\\d{4})([-/.])(?<month>\\d{1,2})\\2(?<day>\\d{1,2})(?:(?:T|,? ) ?${clock})? ?${zone}?`),
  form(`(?<year>\\d{4})-(?<month>\\d\\d)-(?<day>\\d\\d)T${basicClock} ?${zone}?`),
  // 20240305T100000Z
  form(`(?<year>\\d{4})(?<month>\\d\\d)(?<day>\\d\\d)[T ](?:${basicClock}) ?${zone}?`),
  form(`(?<year>\\d{4})(?<month>\\d\\d)(?<day>\\d\\d)[T ](?:${clock}) ?${zone}?`),
  // Tue, 05 Mar 2024 10:00:00 +0000, 5-Mar-2024, 05/Mar/2024:10:00:00 +0000
  form(
    `${weekday}${dayOfMonth}[ /.-]+${month}[ /.,-]+(?<year>\\d{4}|\\d\\d)(?:(?:T|:|,? (?:at )?)${clock})? ?${zone}?`,
  ),
  // March 5, 2024 10:00 AM, Tue Mar 05 2024 10:00:00 GMT+0100
  form(`${weekday}${month} ${dayOfMonth},? (?<year>\\d{4})(?:,? (?:at )?${clock})? ?${zone}?`),
  // Tue Mar 05 10:00:00 +0000 2024, Tue Mar 5 10:00:00 2024 +0100
  form(`${weekday}${month} ${dayOfMonth} ${clock} ?${zone}? (?<year>\\d{4})`),
  form(`${weekday}${month} ${dayOfMonth} ${clock} (?<year>\\d{4}) ?${zone}?`),
  // 05/03/2024 10:00
  form(`(?<first>\\d{1,2})([/.-])(?<second>\\d{1,2})\\2(?<year>\\d{4}|\\d\\d)(?:[ ,T]+${clock})? ?${zone}?`),
];

function partsTime(parts: Groups, reading: TimeReading): ForeignTime | string {
  const date = parts.first === undefined ? dated(parts) : orderedDay(parts, reading);
  if (typeof date === 'string') return date;
  if (date.year.length === 2) return `has a year of two digits, ${date.year}; write all four`;
  if (date.month === '0') return 'names no month; write its first three letters in English, or its number';
  return isDay(dayText(date)) ? timeOnDay(dayText(date), parts) : noSuchDay;
}

function dated({ year = '', month, day = '', name = '' }: Groups) {
  const isMeant = (whole: string) => whole.slice(0, 3).toLowerCase() === name.slice(0, 3).toLowerCase();
  return { year, month: month ?? String(monthNames.findIndex(isMeant) + 1), day };
}

/** A number above 12, or two equal ones, leave no doubt about the order. */
function orderedDay(
  { year = '', first = '', second = '' }: Groups,
  { dateOrder = null }: TimeReading,
): { year: string; month: string; day: string } | string {
  const inOrder = (order: DateOrder, whole: string) =>
    order === 'dmy' ? { year: whole, month: second, day: first } : { year: whole, month: first, day: second };
  if (year.length === 4) {
    const order = Number(first) > 12 || first === second ? 'dmy' : Number(second) > 12 ? 'mdy' : dateOrder;
    if (order !== null) return inOrder(order, year);
    return doubt([inOrder('dmy', year), inOrder('mdy', year)], { canBeOrdered: true });
  }
  const century = (digits: string) => `${Number(digits) < 69 ? 20 : 19}${digits.padStart(2, '0')}`;
  if (dateOrder !== null) return inOrder(dateOrder, century(year));
  const yearFirst = { year: century(first), month: second, day: year };
  return doubt([inOrder('dmy', century(year)), inOrder('mdy', century(year)), yearFirst], { canBeOrdered: true });
}

const monthNames = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

function doubt(
  days: readonly { year: string; month: string; day: string }[],
  { canBeOrdered }: { canBeOrdered: boolean },
): string {
  const real = days.filter((day) => isDay(dayText(day)));
  if (real.length === 0) return noSuchDay;
  const names = new Set(real.map(({ year, month, day }) => `${Number(day)} ${monthNames[Number(month) - 1]} ${year}`));
  return `could be ${[...names].join(' or ')}; put the year first, with four digits${canBeOrdered ? ', or say which with --date-order dmy or mdy' : ''}`;
}

function dayText({ year, month, day }: { year: string; month: string; day: string }): string {
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

function timeOnDay(
  day: string,
  { hour = '0', minute = '0', seconds = '0', fraction = '', half, zone }: Groups,
): ForeignTime | string {
  const isMidnight = Number(hour) === 24 && Number(minute) === 0 && Number(seconds) === 0;
  if (half !== undefined && (Number(hour) < 1 || Number(hour) > 12)) return `has the hour ${hour} with am or pm`;
  if ((Number(hour) > 23 && !isMidnight) || Number(minute) > 59 || Number(seconds) > 59)
    return `must be a time: ${hour}:${minute}:${seconds} is on no clock`;
  const offset = zone === undefined ? 0 : zoneMinutes(zone);
  if (Math.abs(offset) >= 24 * 60) return `has the offset ${zone}, which no zone has`;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  const minutes = 60 * hours + Number(minute) - offset;
  const ms =
    Date.parse(`${day}T00:00Z`) + (60 * minutes + Number(seconds)) * 1000 + Number(`${fraction}000`.slice(0, 3));
  return { time: new Date(ms).toISOString(), hasZone: zone !== undefined };
}

function zoneMinutes(zone: string): number {
  const [, sign, hours, minutes = '0'] = /([+\u2212-])(\d{1,2}):?(\d\d)?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  return (sign === '+' ? 1 : -1) * (60 * Number(hours) + Number(minutes));
}

/** The years of days and times as one number. Unix seconds of as many digits would be in 1970 or the far future. */
const [firstYear, lastYear] = [1900, 2100];

/** A number: a day or time in its digits, or else the time since 1970 in the unit of its size. */
function numberTime(text: string, { areOffsets = false }: TimeReading): ForeignTime | string {
  // In a column with gaps, pandas turns 20240301 into 20240301.0.
  const digits = text.replace(/\.0*$/, '');
  const spelt = areOffsets ? null : speltTime(digits);
  if (spelt !== null) return spelt;
  const time = new Date(milliseconds(Number(text)));
  if (Number.isNaN(time.getTime())) return noTime;
  const year = time.getUTCFullYear();
  return year > lastYear || year < 1
    ? `would be of the year ${year} as a Unix time; write it as ISO 8601, such as 2014-08-09T22:33:06Z`
    : { time: time.toISOString(), hasZone: true };
}

/** Null for digits that spell no time. */
function speltTime(digits: string): ForeignTime | string | null {
  const [, whole, ...rest] = /^(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d{3})?$/.exec(digits) ?? [];
  if (whole === undefined) return null;
  const year = Number(whole);
  const [month, day, hour, minute, seconds, fraction] = rest;
  const reversed = year >= firstYear && year <= lastYear ? null : dayFirst(digits);
  if (reversed !== null) return doubt(reversed, { canBeOrdered: false });
  if (year < firstYear || year > lastYear) return null;
  if (month === undefined) return 'is a year alone; write the day, too, such as 2014-08-09';
  if (day === undefined) return Number(month) < 1 || Number(month) > 12 ? null : 'is a month alone; write the day, too';
  const date = `${whole}-${month}-${day}`;
  const isReal = isDay(date);
  const isOnClock = Number(hour ?? 0) < 24 && Number(minute ?? 0) < 60 && Number(seconds ?? 0) < 60;
  if (hour !== undefined && minute === undefined)
    return isReal && isOnClock
      ? `could be the hour ${hour} of ${date} or Unix seconds of the year ${new Date(Number(digits) * 1000).getUTCFullYear()}; write it as ISO 8601, such as ${date}T${hour}:00Z`
      : null;
  if (!isReal) return hour === undefined || seconds !== undefined ? noSuchDay : null;
  if (!isOnClock) return seconds === undefined ? null : noTime;
  return timeOnDay(date, { hour, minute, seconds, fraction });
}

/** The days that eight digits may spell with the year last; null for other digits. */
function dayFirst(digits: string): readonly { year: string; month: string; day: string }[] | null {
  const [, first, second, year] = /^(\d\d)(\d\d)(\d{4})$/.exec(digits) ?? [];
  if (year === undefined || Number(year) < firstYear || Number(year) > lastYear) return null;
  const days = [
    { year, month: second, day: first },
    { year, month: first, day: second },
  ];
  return days.some((day) => isDay(dayText(day))) ? days : null;
}

/** The unit by size, as in pandas: seconds until the year 5138, milliseconds, microseconds, nanoseconds. */
function milliseconds(number: number): number {
  const size = Math.abs(number);
  if (size < 1e11) return number * 1000;
  if (size < 1e14) return number;
  return size < 1e17 ? number / 1000 : number / 1_000_000;
}

/** Until 4 November 2010 Twitter's ids were consecutive numbers; from this one on they contain their time. */
const firstSnowflake = 29_700_859_247n;
const twitterEpochMs = 1_288_834_974_657n;

/**
 * The time of a tweet from its id, whose bits from 22 up are milliseconds since Twitter's epoch.
 * @returns ISO 8601; null for an id without a time
 */
export function snowflakeTime(id: string): string | null {
  if (!/^\d{11,19}$/.test(id)) return null;
  const number = BigInt(id);
  if (number < firstSnowflake) return null;
  return new Date(Number((number >> 22n) + twitterEpochMs)).toISOString();
}
