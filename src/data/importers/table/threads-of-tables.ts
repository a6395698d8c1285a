import { InputError } from '../../../errors.ts';
import { BadItemError, eachOrSkip, orSkipNow, shortened } from '../../bad-item.ts';
import type { Thread } from '../../thread.ts';
import { assembleThread, sortReplies } from '../assemble-thread.ts';
import type { Reading } from '../importer.ts';
import { cellId, cellText, rawText, type TableRow } from './cells.ts';
import { columnLooks, lookedAtRows } from './column-looks.ts';
import { listed, overlooked, tableColumns } from './columns.ts';
import { type KeptRows, keptRows } from './kept-rows.ts';
import { areRumors } from './label-words.ts';
import { cellLabel, cellRumor, cellStance, cellVeracity } from './labels.ts';
import { type RowOfThread, roundedIds, threadedRows } from './threaded-rows.ts';
import { areSpreadsheetDays, cellTime } from './times.ts';

/** A table with a row for each post. */
export interface PostTable {
  /** The file, for messages. */
  readonly source: string;
  readonly headings: readonly string[];
  /** Many at a time, as they are read. */
  readonly rows: AsyncIterable<readonly TableRow[]>;
}

/**
 * Threads of tables with a row for each post. Rows of a thread may stand anywhere, in several tables too. The claim is the post whose
 * id is the thread's, else the earliest of those that answer none, else the earliest; the replies are put in time order.
 * @throws InputError for columns that cannot be told, ids that were rounded, or a bad row or thread that is not to be skipped
 */
export async function* threadsOfTables(tables: AsyncIterable<PostTable>, options: Reading): AsyncGenerator<Thread> {
  const rows = keptRows();
  const notes = new Set<string>();
  for await (const table of tables) await readRows(table, { rows, options, notes });
  const saysRumor = rows.shared.every(({ labels }) => labels.label === null || areRumors([labels.label]));
  yield* eachOrSkip(threadedRows(rows, options), options, ([id, own]) => {
    if (own.every(({ post }) => post.id !== id && post.parent !== null && post.parent !== post.id))
      options.count(
        '# threads lack their claim: each of their posts answers another one, so the earliest is taken for it',
      );
    return threadOf(id, own, { saysRumor });
  });
  for (const note of notes) options.onNote?.(note);
}

/** Reads the rows of a table behind those of others. */
async function readRows(
  { source, headings, rows: all }: PostTable,
  { rows, options, notes }: { rows: KeptRows; options: Reading; notes: Set<string> },
): Promise<void> {
  const onWithoutZone = () =>
    options.count('# times name no zone and are taken for UTC; write +02:00 or so behind them if not');
  const { columns: given = {}, labelMap = {}, dateOrder = null } = options.table ?? {};
  const first: TableRow[] = [];
  const iterator = all[Symbol.asyncIterator]();
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    first.push(...next.value);
    if (first.length >= lookedAtRows) break;
  }
  const looks = columnLooks(headings, first.slice(0, lookedAtRows));
  const columns = tableColumns(headings, { given, source, looks });
  const { time } = columns;
  if (time !== undefined && areSpreadsheetDays(first.flatMap((row) => cellText(row, time) ?? [])))
    throw new InputError(
      `${source}, column ${JSON.stringify(time)}: the times are days as a spreadsheet counts them, such as ${cellText(first[0], time)}; give the column a format of date and time there, and export it again`,
    );
  const valuesOf = (column: string) => looks.labels.get(column) ?? [];
  const timeOptions = { dateOrder, onWithoutZone };
  const ids = [columns.postId, columns.threadId].map((column) => roundedIds({ source, column }));
  const readRow = (row: TableRow) => {
    const read = <T>(column: string | undefined, of: (column: string) => T) =>
      column === undefined ? null : of(column);
    const threadId = read(columns.threadId, (column) => cellId(row, column));
    const postId = read(columns.postId, (column) => cellId(row, column));
    if (threadId === null && (postId === null || columns.parent === undefined))
      throw new BadItemError({
        place: columns.threadId === undefined ? row.place : `${row.place}, column ${JSON.stringify(columns.threadId)}`,
        value: shortened(''),
        reason: 'names no thread',
      });
    const post = {
      time: read(columns.time, (column) => cellTime(row, column, timeOptions)),
      author: read(columns.author, (column) => cellText(row, column)),
      parent: read(columns.parent, (column) => cellId(row, column)),
      text: [columns.title, columns.text]
        .map((of) => read(of, (column) => rawText(row, column)))
        .filter(Boolean)
        .join('\n'),
      stance: read(columns.stance, (column) => cellStance(row, column, { labelMap })),
    };
    const labels = {
      rumor: read(columns.rumor, (column) => cellRumor(row, column, { labelMap, values: valuesOf(column) })),
      label: read(columns.label, (column) => cellLabel(row, column, { labelMap })),
      column: columns.label ?? null,
      veracity: read(columns.veracity, (column) => cellVeracity(row, column, { labelMap })),
      event: read(columns.event, (column) => cellText(row, column)),
      split: read(columns.split, (column) => cellText(row, column)) ?? undefined,
    };
    rows.add({ place: row.place, threadId, postId, post, labels }, source);
    ids[0].add(postId);
    ids[1].add(threadId);
  };
  for (const row of first.splice(0)) orSkipNow(options, () => readRow(row));
  for await (const further of { [Symbol.asyncIterator]: () => iterator })
    for (const row of further) orSkipNow(options, () => readRow(row));
  for (const own of ids) own.refuse();
  for (const note of overlooked(columns, looks)) notes.add(note);
  const used = new Set(Object.values(columns));
  const unused = headings.filter((heading) => heading !== '' && !used.has(heading)).map((own) => JSON.stringify(own));
  const chosen = Object.entries(columns).map(([field, heading]) => `${field} from ${JSON.stringify(heading)}`);
  notes.add(`read ${chosen.join(', ')}${unused.length === 0 ? '' : `; left out ${listed(unused)}`}`);
}

function threadOf(id: string, rows: readonly RowOfThread[], { saysRumor }: { saysRumor: boolean }): Thread {
  const claim = claimOf(id, rows);
  const [{ place }] = rows;
  const inOrder = sortReplies([claim, ...rows.filter((row) => row !== claim)].map(({ post }) => post));
  const posts = inOrder.map((post, index) => ({
    ...post,
    id: post.id ?? (index === 0 ? id : `${id}-${index}`),
    parent: post.parent === post.id ? null : post.parent,
  }));
  const label = agreed(rows, { id, field: 'label' });
  const column = agreed(rows, { id, field: 'column' });
  return assembleThread(
    {
      id,
      posts,
      rumor: agreed(rows, { id, field: 'rumor' }) ?? (saysRumor && label !== null ? /^rumou?r$/i.test(label) : null),
      veracity: agreed(rows, { id, field: 'veracity' }),
      event: agreed(rows, { id, field: 'event' }),
      ...withSplit(agreed(rows, { id, field: 'split' })),
      ...(label !== null && column !== null && !saysRumor && { labels: { [column]: label } }),
    },
    `${place} (thread ${shortened(id)})`,
  );
}

function withSplit(split: string | null | undefined): { split?: string } {
  return split === null || split === undefined ? {} : { split };
}

function claimOf(id: string, rows: readonly RowOfThread[]): RowOfThread {
  const named = rows.find(({ post }) => post.id === id);
  if (named !== undefined) return named;
  const roots = rows.filter(({ post }) => post.parent === null || post.parent === post.id);
  const candidates = roots.length === 0 ? rows : roots;
  if (candidates.some(({ post }) => post.time === null)) return candidates[0];
  return candidates.reduce((first, row) => ((row.post.time ?? '') < (first.post.time ?? '') ? row : first));
}

/** A label of the whole thread, which some or all of its rows say. */
function agreed<Field extends keyof RowOfThread['labels']>(
  rows: readonly RowOfThread[],
  { id, field }: { id: string; field: Field },
): RowOfThread['labels'][Field] | null {
  const said = rows.filter(({ labels }) => labels[field] !== null && labels[field] !== undefined);
  const [first] = said;
  if (first === undefined) return null;
  const other = said.find(({ labels }) => labels[field] !== first.labels[field]);
  if (other !== undefined)
    throw new BadItemError({
      place: other.place,
      value: shortened(other.labels[field]),
      reason: `the ${field} of thread ${JSON.stringify(id)} is ${JSON.stringify(first.labels[field])} at ${first.place}; all posts of a thread must agree`,
    });
  return first.labels[field];
}
