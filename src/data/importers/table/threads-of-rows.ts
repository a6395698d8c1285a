import { BadItemError, orSkip, shortened } from '../../bad-item.ts';
import type { Post, Thread } from '../../thread.ts';
import { assembleThread } from '../assemble-thread.ts';
import type { ImportOptions } from '../importer.ts';
import { cellId, cellText, rawText, type TableRow } from './cells.ts';
import { columnLooks, lookedAtRows } from './column-looks.ts';
import { overlooked, tableColumns } from './columns.ts';
import { cellRumor, cellStance, cellVeracity } from './labels.ts';
import { cellTime } from './times.ts';

interface RowOfThread {
  readonly place: string;
  readonly post: Post;
  readonly labels: Pick<Thread, 'rumor' | 'veracity' | 'event' | 'split'>;
}

/**
 * Threads of a table with a row for each post. Rows of a thread need not stand together. The claim is the post whose id is the
 * thread's, else the earliest of those that answer none, else the earliest; the replies are put in time order.
 * @throws InputError for columns that cannot be told, or a bad row or thread that is not to be skipped
 */
export async function* threadsOfRows(
  rows: AsyncIterable<TableRow>,
  { source, headings, options }: { source: string; headings: readonly string[]; options: ImportOptions },
): AsyncGenerator<Thread> {
  const { columns: given = {}, labelMap = {}, dateOrder = null } = options.table ?? {};
  const first: TableRow[] = [];
  const iterator = rows[Symbol.asyncIterator]();
  for (let next = await iterator.next(); !next.done; next = await iterator.next())
    if (first.push(next.value) >= lookedAtRows) break;
  const looks = columnLooks(headings, first);
  const columns = tableColumns(headings, { given, source, looks });
  const valuesOf = (column: string) => looks.labels.get(column) ?? [];
  const threads = new Map<string, RowOfThread[]>();
  let withoutZone = 0;
  const onWithoutZone = () => void withoutZone++;
  async function* all(): AsyncGenerator<TableRow> {
    yield* first;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  for await (const row of all())
    await orSkip(options, () => {
      const read = <T>(column: string | undefined, of: (column: string) => T) =>
        column === undefined ? null : of(column);
      const { threadId, text } = columns;
      const id = read(threadId, (column) => cellId(row, column));
      if (id === null)
        throw new BadItemError({
          place: `${row.place}, column ${JSON.stringify(threadId)}`,
          value: shortened(''),
          reason: 'names no thread',
        });
      const own = threads.get(id) ?? [];
      const post: Post = {
        id: read(columns.postId, (column) => cellId(row, column)) ?? (own.length === 0 ? id : `${id}-${own.length}`),
        time: read(columns.time, (column) => cellTime(row, column, { dateOrder, onWithoutZone })),
        author: read(columns.author, (column) => cellText(row, column)),
        parent: read(columns.parent, (column) => cellId(row, column)),
        text: read(text, (column) => rawText(row, column)) ?? '',
        stance: read(columns.stance, (column) => cellStance(row, column, { labelMap })),
      };
      const labels = {
        rumor:
          read(columns.rumor, (column) =>
            cellRumor(row, column, { labelMap, values: valuesOf(column), isNamedRumor: true }),
          ) ??
          read(columns.label, (column) =>
            cellRumor(row, column, { labelMap, values: valuesOf(column), isNamedRumor: false }),
          ),
        veracity: read(columns.veracity, (column) => cellVeracity(row, column, { labelMap, values: valuesOf(column) })),
        event: read(columns.event, (column) => cellText(row, column)),
        split: read(columns.split, (column) => cellText(row, column)) ?? undefined,
      };
      own.push({ place: row.place, post, labels });
      threads.set(id, own);
    });
  let withoutClaim = 0;
  for (const [id, own] of threads) {
    if (own.every(({ post }) => post.id !== id && post.parent !== null && post.parent !== post.id)) withoutClaim++;
    const thread = await orSkip(options, () => threadOf(id, own));
    if (thread !== null) yield thread;
  }
  if (withoutZone > 0)
    options.onNote?.(`${withoutZone} times name no zone and are taken for UTC; write +02:00 or so behind them if not`);
  if (withoutClaim > 0)
    options.onNote?.(
      `${withoutClaim} threads lack their claim: each of their posts answers another one, so the earliest is taken for it`,
    );
  for (const note of overlooked(columns, looks)) options.onNote?.(note);
  const used = new Set(Object.values(columns));
  const unused = headings.filter((heading) => heading !== '' && !used.has(heading));
  const chosen = Object.entries(columns).map(([field, heading]) => `${field} from ${JSON.stringify(heading)}`);
  options.onNote?.(
    `read ${chosen.join(', ')}${unused.length === 0 ? '' : `; left out ${unused.map((heading) => JSON.stringify(heading)).join(', ')}`}`,
  );
}

function threadOf(id: string, rows: readonly RowOfThread[]): Thread {
  const claim = claimOf(id, rows);
  const [{ place }] = rows;
  const posts = [claim, ...rows.filter((row) => row !== claim)].map(({ post }) =>
    post.parent === post.id ? { ...post, parent: null } : post,
  );
  return assembleThread(
    {
      id,
      posts,
      rumor: agreed(rows, { id, field: 'rumor' }),
      veracity: agreed(rows, { id, field: 'veracity' }),
      event: agreed(rows, { id, field: 'event' }),
      ...withSplit(agreed(rows, { id, field: 'split' })),
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
