import { basename } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import type { Description, Spread } from '../../src/data/describe.ts';
import { describeOverlaps, describing } from '../../src/data/describe.ts';
import { readThreads } from '../../src/data/thread-file.ts';
import { entryOf } from '../../src/entry-of.ts';
import { terminalTable } from '../report/table.ts';
import { collectSkipped } from './progress.ts';
import { printJson, type Terminal } from './terminal.ts';

/** Columns of a table; further files have a table of their own. */
const filesAcross = 3;

export function dataDescribeCommand(terminal: Terminal) {
  return new Command('describe')
    .description('Count what threads files hold: labels, lengths, time spans, gaps, repeats, overlaps between files.')
    .argument('<file...>', 'threads files, .jsonl or .jsonl.gz')
    .option('--skip-invalid', 'leave bad lines out, count them and go on')
    .option('--json', 'print all counts as JSON')
    .addHelpText(
      'after',
      `
Examples:
  earshot data describe pheme.jsonl.gz
  earshot data describe train.jsonl test.jsonl --json | jq .overlaps`,
    )
    .action(async (paths, { skipInvalid, json }) => {
      const { stdout } = terminal;
      const skipped = collectSkipped(terminal);
      const files = [];
      for (const path of paths) {
        const before = skipped.count();
        const { add, description, ...texts } = describing();
        for await (const thread of readThreads(path, { skipInvalid, onSkipped: skipped.onSkipped })) add(thread);
        files.push({ path, texts, skipped: skipped.count() - before, description: description() });
      }
      skipped.report();
      const overlaps = describeOverlaps(files.map(({ path, texts }) => ({ name: path, ...texts })));
      if (json) {
        const described = files.map(({ path, skipped, description }) => ({ path, skipped, ...description }));
        printJson(terminal, { files: described, overlaps });
        return;
      }
      const named = files.map(({ path, description }) => ({ name: basename(path), description }));
      for (let at = 0; at < named.length; at += filesAcross)
        stdout.write(`${at > 0 ? '\n' : ''}${descriptionTable(named.slice(at, at + filesAcross))}\n`);
      for (const { path, skipped } of files) if (skipped > 0) stdout.write(`${path}: ${skipped} bad lines left out\n`);
      if (overlaps.length > 0) {
        const rows = overlaps.map(({ files: pair, sharedIds, sharedClaimTexts }) =>
          [...pair.map((path) => basename(path)), sharedIds, sharedClaimTexts].map(String),
        );
        const heading = ['file', 'and file', 'shared ids', 'shared claim texts'];
        stdout.write(`\n${terminalTable({ heading, rows, texts: ['and file'] })}\n`);
        stdout.write('drop what is shared before training on one of two files and testing on the other\n');
      }
    });
}

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
