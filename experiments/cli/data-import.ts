import { Command, Option } from '@commander-js/extra-typings';
import { findImporter, importers, importThreads } from '../../src/data/import-threads.ts';
import type { TableImportOptions } from '../../src/data/importers/table/columns.ts';
import { optionOf, type TableColumns } from '../../src/data/importers/table/columns.ts';
import { isLabelled, type TableField, type Thread, tableFields } from '../../src/data/thread.ts';
import { writeThreads } from '../../src/data/thread-file.ts';
import { present } from '../../src/present.ts';
import { collect, optionValue } from './option-values.ts';
import { collectSkipped } from './progress.ts';
import { refuseInputAsOutput } from './shared-options.ts';
import { printJson, type Terminal } from './terminal.ts';

interface Options extends Partial<Record<TableField, string>> {
  labelMap: Record<string, string>;
  dateOrder?: 'dmy' | 'mdy';
  delimiter?: string;
  quote?: string;
  null: string[];
  encoding?: string;
  out: string;
  sort?: true;
  texts?: string;
  skipInvalid?: true;
  json?: true;
}

export function dataImportCommand(terminal: Terminal) {
  const command = new Command('import')
    .description('Read threads in one of the formats people have and write one threads file.')
    .argument('<format>', `one of ${importers.map(({ name }) => name).join(', ')}`)
    .argument('<path...>', 'files or folders, as the format expects (below)')
    .requiredOption('-o, --out <file>', 'threads file to write: .jsonl, or .jsonl.gz for gzip')
    .option('--sort', 'put replies in time order (format threads; all others always are)')
    .option('--texts <file>', 'lines id<TAB>text with the texts of replies (format twitter1516)')
    .option(
      '--label-map <value=label>',
      'tables: what a value of a label column is called, such as fake=rumor or 1=escalated; repeatable',
      addLabel,
      {},
    )
    .option(
      '--null <word>',
      'tables, convokit, articles: a word that means nothing, such as NA, beside empty cells and \\N; repeatable',
      collect,
      [],
    )
    .addOption(new Option('--date-order <order>', 'tables: how to read 03/04/2024').choices(['dmy', 'mdy']))
    .option(
      '--encoding <name>',
      'text files: what they are in, such as gbk or windows-1252 (default: UTF-8, or UTF-16 by its mark)',
    )
    .option('--delimiter <character>', 'csv: between the fields (default: found from the header)')
    .option('--quote <character>', 'csv: around fields with delimiters or line breaks, or none (default: ")')
    .option('--skip-invalid', 'leave bad items out, count them and go on')
    .option('--json', 'print the summary as JSON')
    .addHelpText('after', helpAfter);
  for (const field of tableFields)
    command.option(`${optionOf(field)} <column>`, `tables: the column of ${meanings[field]}`);
  return command.action((format: string, paths: string[], options: Options) =>
    importToFile(format, { ...options, paths, terminal }),
  );
}

async function importToFile(
  format: string,
  { terminal, ...options }: Options & { paths: string[]; terminal: Terminal },
): Promise<void> {
  const { stdout } = terminal;
  // Report a misspelt format before reading anything.
  const isNamed = findImporter(format).takes.includes('label');
  refuseInputAsOutput({ out: options.out, inputs: [...options.paths, ...present([options.texts])] });
  const skipped = collectSkipped(terminal);
  const notes: string[] = [];
  const doubts: string[] = [];
  const tally = { ...emptyTally };
  const threads = importThreads(format, {
    paths: options.paths,
    sort: options.sort,
    texts: options.texts,
    label: isNamed ? options.label?.split(',') : undefined,
    encoding: options.encoding,
    nulls: options.null.length === 0 ? undefined : options.null,
    now: new Date(),
    skipInvalid: options.skipInvalid,
    table: tableOptions(isNamed ? { ...options, label: undefined } : options),
    onSkipped: skipped.onSkipped,
    onNote: (note) => notes.push(note),
    onWarning: (warning) => doubts.push(warning),
  });
  await writeThreads(options.out, counted(threads, { tally, terminal }));
  skipped.report();
  const warnings = [...doubts, ...warningsOf(tally)];
  const counts = { threads: tally.threads, posts: tally.posts };
  if (options.json) {
    const summary = { format, out: options.out, ...counts, skipped: skipped.count(), notes, warnings };
    printJson(terminal, summary);
    return;
  }
  for (const note of notes) stdout.write(`note: ${note}\n`);
  for (const warning of warnings) stdout.write(`warning: ${warning}\n`);
  if (skipped.count() > 0) stdout.write(`${skipped.count()} bad items left out\n`);
  stdout.write(`${counts.threads} threads, ${counts.posts} posts: ${options.out}\n`);
}

const meanings: Readonly<Record<TableField, string>> = {
  threadId: 'the thread that a post is of',
  postId: 'the post’s id',
  title: 'the title, which is read before the text',
  text: 'the text',
  time: 'the time: ISO 8601, 2024/12/31 14:00, 20241231, 31 Dec 2024, Unix seconds or milliseconds, 31/12/2024 14:00',
  author: 'the author',
  parent: 'the id of the post that is answered',
  rumor: 'whether the thread is a rumor: true, false, 1, 0, rumor, non-rumor',
  veracity: 'the veracity: true, false, unverified, non-rumor',
  label:
    'a label of your own, under its name: its values stay as they are, or as --label-map calls them; for convokit metadata by name, with commas between; for erisk its name',
  stance: 'the stance: support, deny, query, comment',
  event: 'the event',
  split: 'the official part of the data set',
};

/** Undefined without an option on columns, because other formats refuse such options. */
function tableOptions({ labelMap, dateOrder, delimiter, quote, ...options }: Options): TableImportOptions | undefined {
  const columns: TableColumns = Object.fromEntries(
    tableFields.flatMap((field) => (options[field] === undefined ? [] : [[field, options[field]]])),
  );
  const isGiven =
    [columns, labelMap].some((mapping) => Object.keys(mapping).length > 0) || dateOrder || delimiter || quote;
  return isGiven ? { columns, labelMap, dateOrder, delimiter, quote } : undefined;
}

const addLabel = optionValue((text, labels: Record<string, string>) => {
  const [, value, label] = /^(.+)=(.+)$/s.exec(text) ?? [];
  const isTaken = Object.keys(labels).some((other) => other.toLowerCase() === value?.toLowerCase());
  return value === undefined || isTaken ? null : { ...labels, [value]: label };
}, 'Write it as fake=rumor, each value once.');

/** Threads that were read, and those that lack something. */
const emptyTally = { threads: 0, posts: 0, unlabelled: 0, untimed: 0, partlyTimed: 0 };
type Tally = typeof emptyTally;

/** Names the missing fields and their consequences. */
function warningsOf({ threads, unlabelled, untimed, partlyTimed }: Tally): string[] {
  const of = (count: number) => (count === threads ? 'no thread has' : `${count} of ${threads} threads lack`);
  return present([
    unlabelled > 0 &&
      `${of(unlabelled)} a label: ${unlabelled === threads ? 'nothing can be trained or tested on them, but a trained policy can decide them' : 'they can calibrate a guarantee and train a policy, but neither train a detector nor test'}`,
    untimed > 0 &&
      `${of(untimed)} times: replies keep the order of the file, which must be the order in time; rules and delays in hours are left out`,
    partlyTimed > 0 &&
      `${partlyTimed} of ${threads} threads lack some of their times: a post without a time stays behind the one before it, the others are put in the order of time, and its delay in hours is not known`,
  ]);
}

const tellEveryMs = 5000;

/** Counts into the tally. The total is unknown until all is read, so progress is a line now and then. */
async function* counted(
  threads: AsyncIterable<Thread>,
  { tally, terminal }: { tally: Tally; terminal: Terminal },
): AsyncGenerator<Thread> {
  let toldMs = performance.now();
  for await (const thread of threads) {
    const timed = thread.posts.filter(({ time }) => time !== null).length;
    tally.threads++;
    tally.posts += thread.posts.length;
    if (!isLabelled(thread)) tally.unlabelled++;
    if (timed === 0) tally.untimed++;
    else if (timed < thread.posts.length) tally.partlyTimed++;
    if (performance.now() - toldMs > tellEveryMs) {
      terminal.stderr.write(`importing: ${tally.threads} threads, ${tally.posts} posts\n`);
      toldMs = performance.now();
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

A cell holds nothing if it is empty or \\N. Any other word is read as it stands, unless --null gives it; words such as NA are counted in a note.
Labels and ids that look the same are the same: accents are composed, invisible characters and repeated spaces are left out.

Columns of a table are found by common names (conversation_id, body, created_at, …), and the last line lists which column was read as what.
An empty name leaves a field out: --event "".
If no column names the thread, posts join the posts that they answer (--post-id and --parent). Rows of a thread may be in several files.

Examples:
  earshot data import csv posts.csv --out threads.jsonl
  earshot data import csv posts.csv.gz --thread-id conversation --text body --label outcome --out threads.jsonl
  earshot data import csv posts.csv --rumor truth --label-map fake=rumor --label-map real=non-rumor --out threads.jsonl
  earshot data import csv weibo.csv --encoding gbk --out threads.jsonl
  earshot data import posts tweets.jsonl --rumor is_rumor --out threads.jsonl
  earshot data import parquet posts.parquet --out threads.jsonl.gz
  earshot data import pheme all-rnr-annotated-threads --out pheme.jsonl.gz
  earshot data import rumoureval2017 semeval2017-task8-dataset test-data subtaska.json subtaskb.json -o re17.jsonl
  earshot data import twitter1516 twitter15 --texts replies.tsv --out twitter15.jsonl
  earshot data import convokit conversations-gone-awry-corpus.zip --label conversation_has_personal_attack --out attacks.jsonl
  earshot data import erisk training-data --label depression --out depression.jsonl
  earshot data import threads a.jsonl b.jsonl.gz --sort --skip-invalid --out both.jsonl`;
}
