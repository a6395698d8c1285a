import type { Post, Thread } from '../../thread.ts';

/** The post and labels of a row. */
export interface RowOfPost {
  readonly place: string;
  /** Null if the row names no thread, which its parent may determine. */
  readonly threadId: string | null;
  /** The id is null if the table names none. */
  readonly post: Omit<Post, 'id'> & { readonly id: string | null };
  readonly labels: Pick<Thread, 'rumor' | 'veracity' | 'event' | 'split'> & {
    /** A further label, and its column. */
    readonly label: string | null;
    readonly column: string | null;
  };
}

/** Values that rows of a thread share. */
type SharedColumns = Pick<RowOfPost, 'threadId' | 'labels'> & { readonly source: string };

/** Rows of posts, each by its place among them. */
export interface KeptRows {
  add(row: RowOfPost, source: string): void;
  readonly shared: readonly SharedColumns[];
  get(place: number): RowOfPost;
}

const chunkBytes = 1 << 24;
const lineBreak = 10;

/**
 * Stores rows as lines of JSON outside the heap: a million rows as objects take several times the memory of their
 * texts, and slow down garbage collection. Values that a row shares with the previous one are stored once.
 */
export function keptRows(): KeptRows {
  const shared: SharedColumns[] = [];
  const starts: number[] = [];
  const chunks: Buffer[] = [];
  let chunk = Buffer.alloc(0);
  let end = 0;
  let last: { key: string; shared: SharedColumns } | null = null;
  return {
    shared,
    add({ place, threadId, post, labels }, source) {
      const sharedColumns = { threadId, labels, source };
      const key = JSON.stringify(sharedColumns);
      if (last?.key !== key) last = { key, shared: sharedColumns };
      shared.push(last.shared);
      const isNear = place.startsWith(source);
      const { id, time, author, parent, text, stance } = post;
      const values = [isNear, isNear ? place.slice(source.length) : place, id, time, author, parent, text, stance];
      const line = `${JSON.stringify(values)}\n`;
      // UTF-8 has up to three bytes for each of JavaScript's characters.
      if (end + 3 * line.length > chunk.length) {
        chunk = Buffer.allocUnsafe(Math.max(chunkBytes, 3 * line.length));
        chunks.push(chunk);
        end = 0;
      }
      starts.push((chunks.length - 1) * chunkBytes + end);
      const written = chunk.write(line, end);
      // A row that is longer than a chunk gets its own.
      end = chunk.length > chunkBytes ? chunk.length : end + written;
    },
    get(place) {
      const from = chunks[Math.floor(starts[place] / chunkBytes)];
      const start = starts[place] % chunkBytes;
      const line = from.toString('utf8', start, from.indexOf(lineBreak, start));
      const [isNear, near, id, time, author, parent, text, stance] = JSON.parse(line);
      const { threadId, labels, source } = shared[place];
      const post = { id, time, author, parent, text, stance };
      return { place: isNear ? `${source}${near}` : near, threadId, post, labels };
    },
  };
}
