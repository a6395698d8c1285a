import { basename } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { describeOverlaps, describing } from '../../src/data/describe.ts';
import { readThreads } from '../../src/data/thread-file.ts';
import { terminalTable } from '../report/table.ts';
import { descriptionTable } from './description-table.ts';
import type { OptionsOf } from './option-values.ts';
import { collectSkipped } from './progress.ts';
import { printJson, type Terminal } from './terminal.ts';

/** Columns of a table; further files have a table of their own. */
const filesAcross = 3;

export function dataDescribeCommand(terminal: Terminal) {
  return dataDescribeOptions().action((paths, options) => describeFiles(paths, { ...options, terminal }));
}

type Flags = OptionsOf<typeof dataDescribeOptions>;

function dataDescribeOptions() {
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
    );
}

async function describeFiles(paths: string[], options: Flags & { terminal: Terminal }): Promise<void> {
  const { terminal, skipInvalid, json } = options;
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
}
