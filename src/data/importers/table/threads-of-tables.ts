import { present } from '../../../present.ts';
import { badItem, eachOrSkip, orSkip, shortened } from '../../bad-item.ts';
import { foldedName } from '../../folded-name.ts';
import type { Thread } from '../../thread.ts';
import { assembleThread, claimFirst, sortReplies } from '../assemble-thread.ts';
import type { ImportContext } from '../importer.ts';
import { cellId, cellText, listed, roundedIds, type TableRow } from './cells.ts';
import { columnLooks, lookedAtRows } from './column-looks.ts';
import { optionOf, overlookedColumns, tableColumns } from './columns.ts';
import { areRumors, cellLabel, cellRumor, cellStance, cellVeracity, type LabelWords, labelWords } from './labels.ts';
import { postTextReader } from './texts.ts';
import { type KeptRows, keptRows, type RowOfPost, threadedRows } from './threaded-rows.ts';
import { timeReader } from './times.ts';

/** A table with one row per post. */
export interface PostTable {
  /** The file, for messages. */
  readonly source: string;
  /** Those of the first row by default. */
  readonly headings?: readonly string[];
  /** The rows in batches, as they are read. */
  readonly rows: AsyncIterable<readonly TableRow[]>;
}

/**
 * Threads of tables with one row per post. Rows of a thread may be anywhere, also in several tables. The claim is the
 * post with the thread's id, or else the earliest without a parent, or else the earliest; replies are sorted by time.
 * @throws InputError for ambiguous columns, rounded ids, or a bad row or thread that is not skipped
 */
export async function* threadsOfTables(
  tables: AsyncIterable<PostTable>,
  options: ImportContext,
): AsyncGenerator<Thread> {
  const rows = keptRows();
  const labels = labelWords(options.table?.labelMap ?? {});
  const notes = new Set<string>();
  for await (const table of tables) for (const note of await addRows(table, { rows, options, labels })) notes.add(note);
  labels.refuseUnmet();
  const saysRumor = rows.shared.every(({ labels: { label } }) => label === null || areRumors([label]));
  yield* eachOrSkip(threadedRows(rows, options), options, ([id, threadRows]) => {
    if (threadRows.every(({ post }) => post.id !== id && post.parent !== null && post.parent !== post.id))
      options.count(
        '# threads lack their claim: each of their posts answers another one, so the earliest is taken for it',
      );
    return threadOf(id, threadRows, { saysRumor });
  });
  for (const note of notes) options.onNote?.(note);
}

/** Adds the rows of a table. @returns notes on its columns */
async function addRows(
  { source, rows: all, ...table }: PostTable,
  { rows, options, labels }: { rows: KeptRows; options: ImportContext; labels: LabelWords },
): Promise<string[]> {
  const { rules, count, table: settings } = options;
  const first: TableRow[] = [];
  const iterator = all[Symbol.asyncIterator]();
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    first.push(...next.value);
    if (first.length >= lookedAtRows) break;
  }
  const headings = table.headings ?? first[0]?.headings;
  if (headings === undefined) return [];
  const looks = columnLooks(headings, first.slice(0, lookedAtRows), rules);
  const columns = tableColumns(headings, { chosen: settings?.columns ?? {}, source, looks });
  const texts = postTextReader(columns, headings, options);
  const timeOf = columns.time === undefined ? () => null : timeReader(columns.time, { source, first, options });
  const ids = [columns.postId, columns.threadId].map((column) => roundedIds({ source, column }));
  for (const column of [columns.label, columns.rumor, columns.veracity, columns.stance])
    if (column !== undefined) labels.columns.add(column);
  const reading = { labels, rules };
  const used = Object.values(columns);
  const readRow = (row: TableRow) => {
    if (used.every((column) => row.value[column] === column)) {
      count('# rows repeat the header, as where files were put together, and were left out');
      return;
    }
    const read = <T>(column: string | undefined, of: (column: string) => T) =>
      column === undefined ? null : of(column);
    const idIn = (column: string) => cellId(row, column, rules);
    const textIn = (column: string) => cellText(row, column, rules);
    const threadId = read(columns.threadId, idIn);
    const postId = read(columns.postId, idIn);
    if (threadId === null && (postId === null || columns.parent === undefined))
      throw badItem('', {
        place: columns.threadId === undefined ? row.place : `${row.place}, column ${JSON.stringify(columns.threadId)}`,
        reason: 'names no thread',
      });
    const author = read(columns.author, textIn);
    const post = {
      id: postId,
      time: timeOf(row),
      author: author !== null && texts.isGone(author) ? null : author,
      parent: read(columns.parent, idIn),
      text: texts.of(row),
      stance: read(columns.stance, (column) => cellStance(row, column, reading)),
    };
    const values = (column: string) => looks.labels.get(column) ?? [];
    const rowLabels = {
      rumor: read(columns.rumor, (column) => cellRumor(row, column, { ...reading, values: values(column) })),
      label: read(columns.label, (column) => cellLabel(row, column, reading)),
      column: read(columns.label, (column) => foldedName(column) || column),
      veracity: read(columns.veracity, (column) => cellVeracity(row, column, reading)),
      event: read(columns.event, textIn),
      split: read(columns.split, textIn) ?? undefined,
    };
    rows.add({ place: row.place, threadId, post, labels: rowLabels }, source);
    ids[0].add(postId);
    ids[1].add(threadId);
  };
  for (const row of first.splice(0)) orSkip(options, () => readRow(row));
  for await (const further of { [Symbol.asyncIterator]: () => iterator })
    for (const row of further) orSkip(options, () => readRow(row));
  for (const column of ids) column.refuse();
  const fields = Object.entries(columns).map(([field, heading]) => `${field} from ${JSON.stringify(heading)}`);
  const more = texts.columns.filter((heading) => !used.includes(heading));
  const isUnused = (heading: string) => heading !== '' && !used.includes(heading) && !more.includes(heading);
  const unused = headings.filter(isUnused).map((heading) => JSON.stringify(heading));
  const read = [...fields, ...more.map((heading) => `text from ${JSON.stringify(heading)}, too`)].join(', ');
  return present([
    ...overlookedColumns(columns, looks),
    texts.note,
    `read ${read}${unused.length === 0 ? '' : `; left out ${listed(unused)}`}`,
  ]);
}

function threadOf(id: string, rows: readonly RowOfPost[], { saysRumor }: { saysRumor: boolean }): Thread {
  const [{ place }] = rows;
  const inOrder = claimFirst(
    id,
    rows.map(({ post }) => post),
  );
  const taken = new Set(inOrder.map((post) => post.id));
  const freeId = (name: string): string => (taken.has(name) ? freeId(`${name}-0`) : name);
  const posts = sortReplies(inOrder).map((post, index) => ({
    ...post,
    id: post.id ?? (index === 0 ? id : freeId(`${id}-${index}`)),
    parent: post.parent === post.id ? null : post.parent,
  }));
  const label = agreedLabel(rows, { id, field: 'label' });
  const column = agreedLabel(rows, { id, field: 'column' });
  return assembleThread(
    {
      id,
      posts,
      rumor:
        agreedLabel(rows, { id, field: 'rumor' }) ?? (saysRumor && label !== null ? /^rumou?r$/i.test(label) : null),
      veracity: agreedLabel(rows, { id, field: 'veracity' }),
      event: agreedLabel(rows, { id, field: 'event' }),
      split: agreedLabel(rows, { id, field: 'split' }) ?? undefined,
      ...(label !== null && column !== null && !saysRumor && { labels: { [column]: label } }),
    },
    `${place} (thread ${shortened(id)})`,
  );
}

/** A label of the whole thread from the rows that have it. */
function agreedLabel<Field extends keyof RowOfPost['labels']>(
  rows: readonly RowOfPost[],
  { id, field }: { id: string; field: Field },
): RowOfPost['labels'][Field] | null {
  const labelled = rows.filter(({ labels }) => labels[field] !== null && labels[field] !== undefined);
  const [first] = labelled;
  if (first === undefined) return null;
  const other = labelled.find(({ labels }) => labels[field] !== first.labels[field]);
  if (other !== undefined)
    throw badItem(other.labels[field], {
      place: other.place,
      reason: `the ${field} of thread ${JSON.stringify(id)} is ${JSON.stringify(first.labels[field])} at ${first.place}; all posts of a thread must agree; where the column means something else, leave it out with ${optionOf(field === 'column' ? 'label' : field)} ""`,
    });
  return first.labels[field];
}
