import { Command } from 'commander';
import { findImporter, importers, importThreads } from '../../src/data/import-threads.ts';
import type { Thread } from '../../src/data/thread.ts';
import { writeThreads } from '../../src/data/thread-file.ts';
import { collectSkipped } from './progress.ts';
import type { Terminal } from './terminal.ts';

interface Options {
  out: string;
  sort?: true;
  texts?: string;
  skipInvalid?: true;
  json?: true;
}

export function dataImportCommand(terminal: Terminal): Command {
  return new Command('import')
    .description('Read threads in one of the formats people have and write one threads file.')
    .argument('<format>', `one of ${importers.map(({ name }) => name).join(', ')}`)
    .argument('<path...>', 'files or folders, as the format expects (below)')
    .requiredOption('-o, --out <file>', 'threads file to write: .jsonl, or .jsonl.gz for gzip')
    .option('--sort', 'put replies in time order (format threads; all others always are)')
    .option('--texts <file>', 'lines id<TAB>text with the texts of replies (format twitter1516)')
    .option('--skip-invalid', 'leave bad items out, count them and go on')
    .option('--json', 'print the summary as JSON')
    .addHelpText('after', helpAfter)
    .action((format: string, paths: string[], options: Options) =>
      importToFile(format, { ...options, paths, terminal }),
    );
}

async function importToFile(
  format: string,
  { terminal, ...options }: Options & { paths: string[]; terminal: Terminal },
): Promise<void> {
  const { stdout } = terminal;
  // Report a misspelt format before reading anything.
  findImporter(format);
  const skipped = collectSkipped(terminal);
  const notes: string[] = [];
  const counts = { threads: 0, posts: 0 };
  const threads = importThreads(format, {
    ...options,
    onSkipped: skipped.onSkipped,
    onNote: (note) => notes.push(note),
  });
  await writeThreads(options.out, counted(threads, { counts, terminal }));
  skipped.report();
  if (options.json) {
    const summary = { format, out: options.out, ...counts, skipped: skipped.count(), notes };
    stdout.write(`${JSON.stringify(summary)}\n`);
    return;
  }
  for (const note of notes) stdout.write(`note: ${note}\n`);
  if (skipped.count() > 0) stdout.write(`${skipped.count()} bad items left out\n`);
  stdout.write(`${counts.threads} threads, ${counts.posts} posts: ${options.out}\n`);
}

/** The total is unknown until all is read, so there is no bar, only a line every five seconds. */
async function* counted(
  threads: AsyncIterable<Thread>,
  { counts, terminal }: { counts: { threads: number; posts: number }; terminal: Terminal },
): AsyncGenerator<Thread> {
  const startedMs = performance.now();
  let toldMs = startedMs;
  for await (const thread of threads) {
    counts.threads++;
    counts.posts += thread.posts.length;
    const nowMs = performance.now();
    if (nowMs - toldMs > 5000) {
      const rate = ((counts.threads * 1000) / (nowMs - startedMs)).toFixed(0);
      terminal.stderr.write(`importing: ${counts.threads} threads, ${counts.posts} posts · ${rate} threads/s\n`);
      toldMs = nowMs;
    }
    yield thread;
  }
}

function helpAfter(): string {
  const formats = importers.map(
    ({ name, description, expects }) => `  ${name}\n    ${description}\n    path: ${expects}`,
  );
  return `
Formats:
${formats.join('\n')}

Examples:
  earshot data import pheme all-rnr-annotated-threads --out pheme.jsonl.gz
  earshot data import rumoureval2017 semeval2017-task8-dataset test-data subtaska.json subtaskb.json -o re17.jsonl
  earshot data import twitter1516 twitter15 --texts replies.tsv --out twitter15.jsonl
  earshot data import threads a.jsonl b.jsonl.gz --sort --skip-invalid --out both.jsonl`;
}
