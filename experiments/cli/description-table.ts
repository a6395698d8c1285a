import type { Description, Spread } from '../../src/data/describe.ts';
import { entryOf } from '../../src/entry-of.ts';
import { terminalTable } from '../report/table.ts';

/** A table with one column per file. Rows without a value are left out. */
export function descriptionTable(files: readonly { name: string; description: Description }[]): string {
  const row = (label: string, cell: (description: Description) => string) => [
    label,
    ...files.map(({ description }) => cell(description)),
  ];
  const rows = [
    row('threads', ({ threads }) => String(threads)),
    row('posts', ({ posts }) => String(posts)),
    row('posts a thread: mean', ({ postsPerThread }) => mean(postsPerThread)),
    row('… min, 10%, median, 90%, max', ({ postsPerThread }) => quantiles(postsPerThread)),
    row('hours to the last post: median', ({ spanHours }) => spanHours?.median.toFixed(1) ?? ''),
    row('… 10%, 90%', ({ spanHours }) =>
      spanHours === null ? '' : `${round(spanHours.quantile10)}, ${round(spanHours.quantile90)}`,
    ),
    row('rumor', ({ rumor }) => counts(rumor)),
    row('veracity', ({ veracity }) => counts(veracity)),
    row('stance', ({ stance }) => counts(stance)),
    row('event', ({ event }) => counts(event)),
    row('split', ({ split }) => counts(split)),
    ...[...new Set(files.flatMap(({ description }) => Object.keys(description.labels)))].map((name) =>
      row(`label ${name}`, ({ labels }) => counts(entryOf(labels, name) ?? {})),
    ),
    row('threads under 3 posts', ({ threadsUnder3Posts }) => some(threadsUnder3Posts)),
    row('posts without time', ({ postsWithoutTime }) => some(postsWithoutTime)),
    row('posts without text', ({ postsWithoutText }) => some(postsWithoutText)),
    row('posts older than their claim', ({ postsBeforeClaim }) => some(postsBeforeClaim)),
    row('claims with the text of another', ({ repeatedClaimTexts }) => some(repeatedClaimTexts)),
    row('posts with the text of another', ({ repeatedPostTexts }) => some(repeatedPostTexts)),
  ];
  const names = files.map(({ name }) => name);
  const filled = rows.filter(([, ...cells]) => cells.some((cell) => cell !== ''));
  return terminalTable({ heading: ['', ...names], rows: filled, texts: names });
}

function mean(spread: Spread | null): string {
  return spread === null ? '' : spread.mean.toFixed(1);
}

function quantiles(spread: Spread | null): string {
  if (spread === null) return '';
  const { min, quantile10, median, quantile90, max } = spread;
  return [min, quantile10, median, quantile90, max].map(round).join(', ');
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function some(count: number): string {
  return count === 0 ? '' : String(count);
}

/** `a 3, b 2, and 20 more`; empty where every value is null. */
function counts(record: Readonly<Record<string, number>>): string {
  const entries = Object.entries(record);
  if (entries.every(([name]) => name === 'null')) return '';
  const first = entries.slice(0, 8).map(([name, count]) => `${name} ${count}`);
  return [...first, ...(entries.length > 8 ? [`and ${entries.length - 8} more`] : [])].join(', ');
}
