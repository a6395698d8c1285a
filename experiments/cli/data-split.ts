import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { taskIn } from '../../src/data/classes-of-labels.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { type PartSize, splitThreads } from '../../src/data/split.ts';
import { goldName } from '../../src/data/task.ts';
import { writeThreads } from '../../src/data/thread-file.ts';
import { indexThreadFile, type ThreadFacts, type ThreadSource } from '../../src/data/thread-source.ts';
import { entryOf } from '../../src/entry-of.ts';
import { terminalTable } from '../report/table.ts';
import { optionValue, seed } from './option-values.ts';
import { collectSkipped } from './progress.ts';
import { refuseInputAsOutput } from './shared-options.ts';
import { printJson, type Terminal } from './terminal.ts';

/** Properties that parts are stratified or counted by. */
function labelOf({ threads }: ThreadSource, { name, path }: { name: string | undefined; path: string }): LabelOf {
  if (name === 'event') return ({ event }) => event ?? 'no event';
  const task = taskIn(threads, { name, path });
  return (thread) => goldName(task, thread) ?? 'unlabelled';
}

type LabelOf = (thread: ThreadFacts) => string;

export function dataSplitCommand(terminal: Terminal) {
  return new Command('split')
    .description('Split a threads file into disjoint parts, one file each.')
    .argument('<file>', 'threads file, .jsonl or .jsonl.gz')
    .requiredOption('-o, --out <folder>', 'folder for <part>.jsonl')
    .option('-p, --part <name=size>', 'a part: a count (100), a share (0.2) or rest; repeatable', addPart, {})
    .option('--hold-out <name=event,…>', 'a part of all threads of these events; repeatable', addHoldOut, {})
    .option(
      '--stratify <label>',
      'each part gets these labels in proportion: a known task, a label of your own, event, or none (default: the label that most threads have)',
    )
    .option('--seed <integer>', 'another seed, another split', seed, 1)
    .option('--gzip', 'write <part>.jsonl.gz')
    .option('--skip-invalid', 'leave bad lines out, count them and go on')
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      `
Examples:
  earshot data split pheme.jsonl.gz -p detector=100 -p demonstrations=50 -p environment=100 -p test=rest -o parts
  earshot data split pheme.jsonl.gz -p train=0.8 -p test=rest --seed 3 --out parts
  earshot data split pheme.jsonl.gz --hold-out test=ferguson -p train=rest --out leave-ferguson-out`,
    )
    .action(async (path, options) => {
      const { stdout } = terminal;
      const skipped = collectSkipped(terminal);
      const source = await indexThreadFile(path, { skipInvalid: options.skipInvalid, onSkipped: skipped.onSkipped });
      skipped.report();
      const { stratify } = options;
      const stratifyBy = stratify === 'none' ? undefined : labelOf(source, { name: stratify, path });
      const parts = splitThreads(source.threads, {
        parts: options.part,
        holdOutEvents: options.holdOut,
        seed: options.seed,
        stratifyBy,
      });
      const fileOf = (part: string) => join(options.out, `${part}.jsonl${options.gzip ? '.gz' : ''}`);
      for (const part of Object.keys(parts)) refuseInputAsOutput({ out: fileOf(part), inputs: [path] });
      const countedBy = stratifyBy ?? labelOf(source, { name: undefined, path });
      const countsOf = (threads: readonly ThreadFacts[]): Record<string, number> =>
        Object.fromEntries(Array.from(groupBy(threads, countedBy), ([label, { length }]) => [label, length]));
      const summary = [];
      for (const [part, held] of Object.entries(parts)) {
        const out = fileOf(part);
        await writeThreads(out, source.read(held));
        summary.push({ part, out, threads: held.length, labels: countsOf(held) });
      }
      const unused = source.threads.length - summary.reduce((sum, part) => sum + part.threads, 0);
      if (options.json) return printJson(terminal, { parts: summary, unused, skipped: skipped.count() });
      const labels = [...new Set(summary.flatMap((part) => Object.keys(part.labels)))].sort();
      const rows = summary.map((part) => [
        part.part,
        String(part.threads),
        ...labels.map((label) => String(entryOf(part.labels, label) ?? 0)),
        part.out,
      ]);
      const heading = ['part', 'threads', ...labels, 'file'];
      stdout.write(`${terminalTable({ heading, rows, texts: ['file'] })}\n`);
      if (skipped.count() > 0) stdout.write(`${skipped.count()} bad lines left out\n`);
      if (unused > 0) stdout.write(`${unused} of ${source.threads.length} threads are in no part\n`);
      stdout.write(`${summary.length} parts: ${options.out}\n`);
    });
}

const addPart = optionValue((text, parts: Record<string, PartSize>) => {
  const [name, value] = nameAndValue(text);
  const size: PartSize = value === 'rest' ? value : Number(value);
  if (name === '' || Object.hasOwn(parts, name) || !(size === 'rest' || size > 0)) return null;
  return { ...parts, [name]: size };
}, 'Write it as train=100 (a count), train=0.2 (a share) or test=rest, each part once.');

const addHoldOut = optionValue((text, parts: Record<string, string[]>) => {
  const [name, value] = nameAndValue(text);
  return name === '' ? null : { ...parts, [name]: [...(entryOf(parts, name) ?? []), ...value.split(',')] };
}, 'Write it as test=ferguson,sydneysiege.');

function nameAndValue(text: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
  return [name, value];
}
