import { Command } from '@commander-js/extra-typings';
import type { AnnotationFilter } from '../../experts/annotations/annotation-list.ts';
import type { AnnotationStats, AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { InputError } from '../../src/errors.ts';
import { existingPath } from '../../src/missing-path.ts';
import { terminalTable } from '../report/table.ts';
import { annotationNamed, debateText, listTable, unreadableText } from './annotations-show.ts';
import { positiveInteger } from './option-values.ts';
import { refuseInputAsOutput } from './shared-options.ts';
import { printResult, type Terminal } from './terminal.ts';

export function annotationsCommand(terminal: Terminal) {
  return new Command('annotations')
    .description('Count, list, read, share and merge the judgements of an annotation store.')
    .addHelpText(
      'after',
      `
A run keeps its annotations in <runs>/cache/annotations.sqlite.

Examples:
  earshot annotations stats runs/cache/annotations.sqlite
  earshot annotations list judged.sqlite --detector s2mad --label rumor
  earshot annotations list judged.sqlite --wrong threads.jsonl
  earshot annotations unreadable judged.sqlite
  earshot annotations unreadable runs/cache/annotations.sqlite --detector jsdrv/stance --forget
  earshot annotations show judged.sqlite 5f0c2a
  earshot annotations show judged.sqlite 524922078:6 --detector s2mad
  earshot annotations show judged.sqlite 5f0c2a --raw
  earshot annotations export judged.sqlite judged.jsonl.gz
  earshot annotations import merged.sqlite judged.jsonl.gz`,
    )
    .addCommand(statsCommand(terminal))
    .addCommand(listCommand(terminal))
    .addCommand(unreadableCommand(terminal))
    .addCommand(showCommand(terminal))
    .addCommand(exportCommand(terminal))
    .addCommand(importCommand(terminal));
}

function ofStore(name: string, description: string) {
  return new Command(name).description(description).argument('<store>', 'annotation store');
}

function statsCommand(terminal: Terminal) {
  return ofStore(
    'stats',
    'Count the annotations of each detector, what they cost, the answers that could not be read, and what budgets count as spent.',
  )
    .option('--json', 'print the counts as JSON')
    .action(async (path, { json }) => {
      const stats = await withStore(path, (store) => store.stats());
      printResult(terminal, { json, value: { store: path, ...stats }, text: statsTable(path, stats) });
    });
}

function listCommand(terminal: Terminal) {
  return ofStore('list', 'List annotations: key, thread, posts read, detector, label, date.')
    .option('--detector <name>', 'only by this detector')
    .option('--thread <id>', 'only of this thread')
    .option('--posts <count>', 'only of prefixes of so many posts', positiveInteger)
    .option('--label <label>', 'only with this label')
    .option('--wrong <threads>', 'only those that differ from the labels of these threads, with the true label')
    .option('--limit <count>', 'at most so many', positiveInteger, 100)
    .option('--json', 'print the rows as JSON')
    .action(async (path, { detector, thread, posts, label, wrong, limit, json }) => {
      const filter: AnnotationFilter = { detector, threadId: thread, prefixLength: posts, label };
      // One row more than is shown, to know whether there are more.
      const rows =
        wrong === undefined
          ? await withStore(path, (store) => store.list({ ...filter, limit: limit + 1 }))
          : await wrongRows(path, { filter, wrong, terminal });
      const shown = rows.slice(0, limit);
      printResult(terminal, { json, value: shown, text: listTable(shown) });
      if (rows.length > limit)
        terminal.stderr.write(`earshot: there are more than ${limit}; raise --limit or filter\n`);
    });
}

async function wrongRows(
  path: string,
  { filter, wrong: labelled, terminal }: { filter: AnnotationFilter; wrong: string; terminal: Terminal },
) {
  const { wrongAnnotations } = await import('../judging/wrong-annotations.ts');
  const { loadThreads } = await import('../../src/data/thread-file.ts');
  const threads = await loadThreads(labelled, {});
  const { wrong, compared } = await withStore(path, (store) => wrongAnnotations(store, { threads, filter }));
  if (compared === 0)
    throw new InputError(
      `${path} holds no judgement of a thread that has a label in ${labelled}; give the labelled threads that were judged`,
    );
  terminal.stderr.write(`earshot: ${wrong.length} of ${compared} judgements of labelled threads are wrong\n`);
  return wrong;
}

function unreadableCommand(terminal: Terminal) {
  return ofStore('unreadable', 'List what was answered instead of a judgement and could not be read; no export has it.')
    .option('--detector <name>', 'only by this detector, such as single-prompt or s2mad/comment-score')
    .option('--forget', 'forget them, so that the next run queries again')
    .option('--json', 'print the rows as JSON')
    .action(async (path, { detector, forget = false, json }) => {
      const rows = await withStore(path, (store) => {
        const listed = store.unreadable.list().filter((row) => detector === undefined || row.detector === detector);
        if (forget) store.unreadable.forget(listed.map(({ key }) => key));
        return listed;
      });
      const forgotten = forget && rows.length > 0 ? `\nForgotten: ${rows.length}\n` : '';
      printResult(terminal, { json, value: rows, text: `${unreadableText(rows)}${forgotten}` });
    });
}

function showCommand(terminal: Terminal) {
  return ofStore(
    'show',
    'Print one annotation as a readable debate: the posts, each statement, the label and the models that answered.',
  )
    .argument('<annotation>', 'beginning of its key, or <thread>:<posts>')
    .option('--detector <name>', 'by this detector, where several judged the same posts')
    .option('--raw', 'print each answer as it came over the wire, too')
    .option('--json', 'print the whole row, and the answers that it was made of, as JSON')
    .action(async (path, name, { detector, raw, json }) => {
      const { row, responses } = await withStore(path, (store) => {
        const row = annotationNamed({ store, name, detector });
        return { row, responses: store.responses.of([row.key]) };
      });
      printResult(terminal, { json, value: { ...row, responses }, text: debateText(row, { responses, raw }) });
    });
}

function exportCommand(terminal: Terminal) {
  return ofStore('export', 'Write every annotation as a line of JSON, with its request and its key.')
    .argument('<file>', 'file to write: .jsonl, or .jsonl.gz for gzip')
    .option('--json', 'print the count as JSON')
    .action(async (path, file, { json }) => {
      refuseInputAsOutput({ out: file, inputs: [path] });
      const exported = await withStore(path, (store) => store.export(file));
      const value = { store: path, file, exported };
      printResult(terminal, { json, value, text: `${exported} annotations: ${file}\n` });
    });
}

function importCommand(terminal: Terminal) {
  return new Command('import')
    .description('Add the annotations of an exported file; a question that the store has an answer to keeps it.')
    .argument('<store>', 'annotation store; made when absent')
    .argument('<file>', 'file that annotations export wrote')
    .option('--json', 'print the counts as JSON')
    .action(async (path, file, { json }) => {
      const exported = existingPath(file);
      const { read, added } = await withStore(path, (store) => store.import(exported), { isMade: true });
      const text = `${read} annotations read, ${added} of them new: ${path}\n`;
      printResult(terminal, { json, value: { store: path, file, read, added }, text });
    });
}

/** Making a store would hide a mistyped path, so only an import makes one. */
async function withStore<T>(
  path: string,
  use: (store: AnnotationStore) => T | Promise<T>,
  { isMade = false } = {},
): Promise<T> {
  const { AnnotationStore } = await import('../../experts/annotations/annotation-store.ts');
  const store = isMade ? AnnotationStore.open(path) : AnnotationStore.openExisting(path);
  try {
    return await use(store);
  } finally {
    store.close();
  }
}

function statsTable(
  path: string,
  { annotations, unreadable, byDetector, firstDate, lastDate, fileBytes, spent }: AnnotationStats,
): string {
  const size = fileBytes === null ? '' : `, ${(fileBytes / 1e6).toFixed(1)} MB`;
  const dates = firstDate === null ? '' : `, from ${firstDate} to ${lastDate}`;
  const missing = unreadable === 0 ? '' : `, ${unreadable} answers that could not be read`;
  const heading = `${annotations} annotations in ${path}${size}${dates}${missing}\n`;
  if (annotations + unreadable === 0) return `${heading}${spentText(spent)}`;
  const rows = byDetector.map((row) =>
    [
      row.detector,
      row.annotations,
      row.unreadable,
      row.unreadableParts,
      row.threads,
      row.requests,
      row.inputTokens,
      row.outputTokens,
      row.cost === null ? '–' : row.cost.toFixed(4),
      row.seconds === null ? '–' : row.seconds.toFixed(2),
    ].map(String),
  );
  const answers = ['annotations', 'unreadable', 'unreadable parts'];
  const columns = ['threads', 'requests', 'input tokens', 'output tokens', 'money', 'mean seconds'];
  return `${heading}\n${terminalTable({ heading: ['detector', ...answers, ...columns], rows })}\n${spentText(spent)}`;
}

function spentText(spent: AnnotationStats['spent']): string {
  if (spent.length === 0) return '';
  const rows = spent.map(({ name, requests, tokens, money, since }) => [
    name,
    String(requests),
    String(Math.ceil(tokens)),
    money.toFixed(4),
    since,
  ]);
  const heading = ['spent by', 'requests', 'tokens', 'money', 'since'];
  return `\n${terminalTable({ heading, rows, texts: ['since'] })}\n`;
}
