import { InputError } from '../../../errors.ts';
import { badItem, eachOrSkip, orSkipNow, shortened } from '../../bad-item.ts';
import { foldedName } from '../../folded-name.ts';
import type { Thread } from '../../thread.ts';
import { assembleThread, earliest, sortReplies } from '../assemble-thread.ts';
import type { ImportContext } from '../importer.ts';
import { silentRules } from '../nothing.ts';
import { noteOnZones } from '../read-time.ts';
import { cellId, cellText, rawText, type TableRow } from './cells.ts';
import { columnLooks, lookedAtRows } from './column-looks.ts';
import { listed, overlookedColumns, type TableColumns, tableColumns } from './columns.ts';
import { type ExportForm, exportForm } from './export-form.ts';
import { type KeptRows, keptRows } from './kept-rows.ts';
import { areRumors, type LabelWords, labelWords } from './label-words.ts';
import { cellLabel, cellRumor, cellStance, cellVeracity } from './labels.ts';
import { type RowOfThread, roundedIds, threadedRows } from './threaded-rows.ts';
import { areSpreadsheetDays, cellTime, numbersAmong } from './times.ts';

/** A table with one row per post. */
export interface PostTable {
  /** The file, for messages. */
  readonly source: string;
  readonly headings: readonly string[];
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
  const notes = new Set<string>();
  const labels = labelWords(options.table?.labelMap ?? {});
  const readLabels = { columns: new Set<string>(), values: new Set<string>() };
  for await (const table of tables) await readRows(table, { rows, options, notes, labels, readLabels });
  refuseUnmet(labels.unmet(), readLabels);
  const saysRumor = rows.shared.every(({ labels }) => labels.label === null || areRumors([labels.label]));
  yield* eachOrSkip(threadedRows(rows, options), options, ([id, threadRows]) => {
    if (threadRows.every(({ post }) => post.id !== id && post.parent !== null && post.parent !== post.id))
      options.count(
        '# threads lack their claim: each of their posts answers another one, so the earliest is taken for it',
      );
    return threadOf(id, threadRows, { saysRumor });
  });
  for (const note of notes) options.onNote?.(note);
}

/** The columns of labels of all tables, and some of their values. */
interface SeenLabels {
  readonly columns: Set<string>;
  readonly values: Set<string>;
}

const mostSeenValues = 20;

/** @throws InputError for keys of the map of labels that no cell has */
function refuseUnmet(unmet: readonly string[], { columns, values }: SeenLabels): void {
  if (unmet.length === 0) return;
  const [first] = unmet;
  const where =
    columns.size === 0
      ? 'no column of labels is read; name one with --label, --rumor, --veracity or --stance'
      : `its values are ${listed([...values].map((value) => JSON.stringify(value)))}`;
  throw new InputError(
    `--label-map ${JSON.stringify(first)}: no cell of the labels${columns.size === 0 ? '' : ` (${[...columns].join(', ')})`} is ${JSON.stringify(first)}; ${where}`,
  );
}

/** Adds the rows of a table. */
async function readRows(
  { source, headings, rows: all }: PostTable,
  context: { rows: KeptRows; options: ImportContext; notes: Set<string>; labels: LabelWords; readLabels: SeenLabels },
): Promise<void> {
  const { rows, options, notes, labels, readLabels } = context;
  const { rules, count } = options;
  const { columns: chosenColumns = {}, dateOrder = null } = options.table ?? {};
  const first: TableRow[] = [];
  const iterator = all[Symbol.asyncIterator]();
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    first.push(...next.value);
    if (first.length >= lookedAtRows) break;
  }
  const looks = columnLooks(headings, first.slice(0, lookedAtRows), rules);
  const columns = tableColumns(headings, { chosen: chosenColumns, source, looks });
  const { time } = columns;
  const silent = silentRules(rules);
  const times = time === undefined ? [] : first.flatMap((row) => cellText(row, time, silent) ?? []);
  if (time !== undefined && areSpreadsheetDays(times))
    throw new InputError(
      `${source}, column ${JSON.stringify(time)}: the times are days as a spreadsheet counts them, such as ${times[0]}; give the column a format of date and time there, and export it again`,
    );
  const valuesOf = (column: string) => looks.labels.get(column) ?? [];
  const timeOptions = {
    dateOrder,
    ...numbersAmong(times),
    rules,
    onWithoutZone: () => count(noteOnZones),
    onZero: () => options.warn('# times are 0, which lies before 1990; they are read as no time'),
  };
  const texts = textColumns(columns, headings);
  const ids = [columns.postId, columns.threadId].map((column) => roundedIds({ source, column }));
  const labelColumns = [columns.label, columns.rumor, columns.veracity, columns.stance];
  for (const column of labelColumns) if (column !== undefined) readLabels.columns.add(column);
  const seenWords: LabelWords = {
    ...labels,
    of(value) {
      if (readLabels.values.size < mostSeenValues) readLabels.values.add(value);
      return labels.of(value);
    },
  };
  const reading = { labels: options.table?.labelMap === undefined ? labels : seenWords, rules };
  const label = columns.label === undefined ? null : labelName(columns.label, source);
  const used = Object.values(columns);
  const readRow = (row: TableRow) => {
    if (used.every((column) => row.value[column] === column)) {
      count('# rows repeat the header, as where files were put together, and were left out');
      return;
    }
    const read = <T>(column: string | undefined, of: (column: string) => T) =>
      column === undefined ? null : of(column);
    const threadId = read(columns.threadId, (column) => cellId(row, column, rules));
    const postId = read(columns.postId, (column) => cellId(row, column, rules));
    if (threadId === null && (postId === null || columns.parent === undefined))
      throw badItem('', {
        place: columns.threadId === undefined ? row.place : `${row.place}, column ${JSON.stringify(columns.threadId)}`,
        reason: 'names no thread',
      });
    const author = read(columns.author, (column) => cellText(row, column, rules));
    const post = {
      time: read(columns.time, (column) => cellTime(row, column, timeOptions)),
      author: author !== null && texts.form?.isGone(author) ? null : author,
      parent: read(columns.parent, (column) => cellId(row, column, rules)),
      text: textOf(row, texts, options),
      stance: read(columns.stance, (column) => cellStance(row, column, reading)),
    };
    const labels = {
      rumor: read(columns.rumor, (column) => cellRumor(row, column, { ...reading, values: valuesOf(column) })),
      label: read(columns.label, (column) => cellLabel(row, column, reading)),
      column: label,
      veracity: read(columns.veracity, (column) => cellVeracity(row, column, reading)),
      event: read(columns.event, (column) => cellText(row, column, rules)),
      split: read(columns.split, (column) => cellText(row, column, rules)) ?? undefined,
    };
    rows.add({ place: row.place, threadId, postId, post, labels }, source);
    ids[0].add(postId);
    ids[1].add(threadId);
  };
  for (const row of first.splice(0)) orSkipNow(options, () => readRow(row));
  for await (const further of { [Symbol.asyncIterator]: () => iterator })
    for (const row of further) orSkipNow(options, () => readRow(row));
  for (const column of ids) column.refuse();
  for (const note of overlookedColumns(columns, looks)) notes.add(note);
  const read = new Set([...used, ...texts.before, ...texts.columns]);
  const isUnused = (heading: string) => heading !== '' && !read.has(heading);
  const unused = headings.filter(isUnused).map((heading) => JSON.stringify(heading));
  const chosen = Object.entries(columns).map(([field, heading]) => `${field} from ${JSON.stringify(heading)}`);
  for (const heading of read) if (!used.includes(heading)) chosen.push(`text from ${JSON.stringify(heading)}, too`);
  if (texts.form !== null) notes.add(`texts are read as exports of ${texts.form.name} write them: ${texts.form.note}`);
  notes.add(`read ${chosen.join(', ')}${unused.length === 0 ? '' : `; left out ${listed(unused)}`}`);
}

/** The columns of a post's text. */
interface TextColumns {
  readonly form: ExportForm | null;
  /** All texts of these columns are read. */
  readonly before: readonly string[];
  /** The first text of these columns is read. */
  readonly columns: readonly string[];
}

function textColumns(columns: TableColumns, headings: readonly string[]): TextColumns {
  const form = exportForm(headings);
  const isThere = (column: string | undefined): column is string => column !== undefined && headings.includes(column);
  const before = [columns.title, ...(form?.before ?? [])].filter(isThere);
  // In Reddit, the text of a comment is its body, and that of a submission its selftext.
  const others = form?.name === 'Reddit' ? form.texts.filter((heading) => heading !== 'title') : [];
  const isKnown = columns.text !== undefined && others.includes(columns.text);
  const texts = [columns.text, ...(isKnown ? others : [])].filter(isThere);
  return { form, before, columns: [...new Set(texts)] };
}

function textOf(row: TableRow, { form, before, columns }: TextColumns, { rules, count }: ImportContext): string {
  const text = (column: string) => {
    const raw = rawText(row, column, rules);
    if (raw === '' || form === null || !form.texts.includes(column)) return raw;
    if (!form.isGone(raw)) return form.plain(raw);
    count('# texts were deleted or removed before the export and are empty');
    return '';
  };
  const parts = before.map(text);
  for (const column of columns) {
    const part = text(column);
    parts.push(part);
    if (part !== '') break;
  }
  return parts.filter((part) => part !== '').join('\n');
}

/** @throws InputError for a name that JavaScript does not keep */
function labelName(column: string, source: string): string {
  if (column !== '__proto__') return foldedName(column) || column;
  throw new InputError(`${source}: a label cannot be called __proto__; rename the column`);
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
      ...withSplit(agreedLabel(rows, { id, field: 'split' })),
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
  return earliest(candidates, ({ post }) => post.time);
}

/** A label of the whole thread from the rows that have it. */
function agreedLabel<Field extends keyof RowOfThread['labels']>(
  rows: readonly RowOfThread[],
  { id, field }: { id: string; field: Field },
): RowOfThread['labels'][Field] | null {
  const labelled = rows.filter(({ labels }) => labels[field] !== null && labels[field] !== undefined);
  const [first] = labelled;
  if (first === undefined) return null;
  const other = labelled.find(({ labels }) => labels[field] !== first.labels[field]);
  if (other !== undefined)
    throw badItem(other.labels[field], {
      place: other.place,
      reason: `the ${field} of thread ${JSON.stringify(id)} is ${JSON.stringify(first.labels[field])} at ${first.place}; all posts of a thread must agree`,
    });
  return first.labels[field];
}
