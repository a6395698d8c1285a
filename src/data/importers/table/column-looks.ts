import { readTime } from '../read-time.ts';
import { cellText, type TableRow } from './cells.ts';

/** Columns by the look of their values. */
export interface ColumnLooks {
  readonly times: readonly string[];
  /** Columns of few values that occur many times, with these values. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Columns of running text, the longest first. */
  readonly texts: readonly string[];
  /**
   * Columns of names that several rows share, the likeliest thread id first: one without gaps, with equal values in
   * successive rows, and with the most values.
   */
  readonly groups: readonly string[];
}

/** Rows that are inspected. */
export const lookedAtRows = 500;

/** Inspects the values of some rows, whatever their headings. */
export function columnLooks(
  headings: readonly string[],
  rows: readonly TableRow[],
  { words }: { words: ReadonlySet<string> },
): ColumnLooks {
  const times: string[] = [];
  const labels = new Map<string, readonly string[]>();
  const texts: { heading: string; length: number }[] = [];
  const groups: { heading: string; likeness: readonly number[] }[] = [];
  for (const heading of new Set(headings)) {
    const values = rows.flatMap((row) => {
      const value = row.value[heading];
      const isNested = value !== null && typeof value === 'object' && !(value instanceof Date);
      return isNested ? [] : (cellText(row, heading, { words }) ?? []);
    });
    if (values.length === 0) continue;
    const different = new Set(values);
    const length = values.reduce((sum, value) => sum + value.length, 0) / values.length;
    const isNumber = values.every((value) => /^-?\d+(\.\d+)?$/.test(value));
    const isRepeated = different.size > 1 && different.size * leastRepeats <= values.length;
    if (values.every(isTime)) times.push(heading);
    else if (isRepeated && different.size <= mostLabels && length <= longestLabel && (!isNumber || isBinary(different)))
      labels.set(heading, [...different]);
    else if (!isNumber && length >= shortestText && different.size * 2 > values.length) texts.push({ heading, length });
    else if (isRepeated && length <= longestName) {
      const isTogether = values.filter((value, index) => value !== values[index - 1]).length === different.size;
      groups.push({ heading, likeness: [Number(values.length === rows.length), Number(isTogether), different.size] });
    }
  }
  return {
    times,
    labels,
    texts: texts.sort((a, b) => b.length - a.length).map(({ heading }) => heading),
    groups: groups.sort((a, b) => compareNumbers(b.likeness, a.likeness)).map(({ heading }) => heading),
  };
}

/** Compares by the first number that differs. */
function compareNumbers(left: readonly number[], right: readonly number[]): number {
  const index = left.findIndex((value, place) => value !== right[place]);
  return index < 0 ? 0 : left[index] - right[index];
}

const leastRepeats = 2;
const mostLabels = 6;
const longestLabel = 30;
const shortestText = 8;
const longestName = 80;

function isBinary(values: ReadonlySet<string>): boolean {
  return [...values].every((value) => ['0', '1', '0.0', '1.0'].includes(value));
}

/** A number alone is a time only in this century: a day, or seconds, milliseconds or microseconds. */
function isTime(text: string): boolean {
  const isSpelt = /^20\d{6}(\.0|\d{6})?$/.test(text);
  if (/^-?\d+(\.\d+)?$/.test(text) && !isSpelt) return /^1\d{9}(\.\d+)?$|^1\d{12}$|^1\d{15}$/.test(text);
  return typeof readTime(text, { dateOrder: 'dmy' }) !== 'string';
}
