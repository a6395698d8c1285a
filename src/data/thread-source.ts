import { stat } from 'node:fs/promises';
import { InputError } from '../errors.ts';
import type { SkipOptions } from './bad-item.ts';
import { readRanges } from './text-lines.ts';
import type { Thread } from './thread.ts';
import { parseJson, parseThread, readPlacedThreads } from './thread-file.ts';

/*
 * A file of a million threads does not fit into memory, and an experiment needs a few hundred of them. So a split is made from what
 * it must know of each thread, and only those that were drawn are read whole.
 */

/** What a split must know of a thread. */
export type ThreadFacts = Pick<Thread, 'id' | 'event' | 'rumor' | 'veracity' | 'labels' | 'chosen'>;

/** A thread of a source, which can be read from there. */
export interface IndexedThread extends ThreadFacts {
  /** Its position in the source. */
  readonly place: number;
}

/** Threads of a file, or made up. */
export interface ThreadSource {
  /** In the order of the source. */
  readonly threads: readonly IndexedThread[];
  /** The threads whole, one at a time, in the order of the source. */
  read(selection: readonly IndexedThread[]): AsyncGenerator<Thread>;
}

/** Threads whole, in the order given. */
export async function loadIndexed(source: ThreadSource, selection: readonly IndexedThread[]): Promise<Thread[]> {
  const byId = new Map<string, Thread>();
  for await (const thread of source.read(selection)) byId.set(thread.id, thread);
  return selection.map(({ id }) => byId.get(id)!);
}

/** Threads that are in memory. */
export function sourceOfThreads(threads: readonly Thread[]): ThreadSource {
  return {
    threads: threads.map(factsOf),
    async *read(selection) {
      for (const { place } of inOrder(selection)) yield threads[place];
    },
  };
}

/** Files of fewer bytes, unpacked, stay in memory, so that no thread is read twice. */
const smallBytes = 2 ** 26;

/**
 * Reads a thread file once, checks every line, and keeps what splits must know; see `readThreads`.
 * @param options.shaped changes every thread before anything else sees it
 * @param options.onThread is told of each thread once, in order
 * @param options.keptBytes files of fewer bytes, unpacked, stay in memory
 * @throws InputError as `readThreads` does; reading a thread later, where the file is no longer what it was
 */
export async function indexThreadFile(
  path: string,
  options: SkipOptions & {
    shaped?: ((thread: Thread) => Thread) | undefined;
    onThread?: ((thread: Thread) => void) | undefined;
    keptBytes?: number;
  } = {},
): Promise<ThreadSource> {
  const { shaped = (thread) => thread, onThread, keptBytes = smallBytes, ...skipping } = options;
  const stamp = await stampOf(path);
  const events = new Map<string, string>();
  const facts: IndexedThread[] = [];
  // Two lists of numbers: ranges as objects would take four times the memory.
  const [starts, lengths]: [number[], number[]] = [[], []];
  let inMemory: Thread[] | null = [];
  for await (const { thread: read, bytes } of readPlacedThreads(path, skipping)) {
    const thread = shaped(read);
    onThread?.(thread);
    const threadFacts = factsOf(thread, facts.length);
    // One string for all threads of an event.
    const event = threadFacts.event === null ? null : (events.get(threadFacts.event) ?? threadFacts.event);
    if (event !== null) events.set(event, event);
    facts.push({ ...threadFacts, event });
    starts.push(bytes.start);
    lengths.push(bytes.length);
    if (bytes.start + bytes.length > keptBytes) inMemory = null;
    inMemory?.push(thread);
  }
  const whole = inMemory;
  if (whole !== null) return { ...sourceOfThreads(whole), threads: facts };
  return {
    threads: facts,
    async *read(selection) {
      if ((await stampOf(path)) !== stamp)
        throw new InputError(`${path} was changed while it was in use; give the command again`);
      const lines = inOrder(selection).map(({ place }) => ({ start: starts[place], length: lengths[place] }));
      for await (const line of readRanges(path, lines))
        yield shaped(parseThread(parseJson(new TextDecoder().decode(line), path), { place: path }));
    },
  };
}

function factsOf({ id, event, rumor, veracity, labels, chosen }: Thread, place: number): IndexedThread {
  const optional = { ...(labels !== undefined && { labels }), ...(chosen !== undefined && { chosen }) };
  return { id, event, rumor, veracity, ...optional, place };
}

function inOrder(selection: readonly IndexedThread[]): IndexedThread[] {
  return selection.toSorted((a, b) => a.place - b.place);
}

/** What changes when a file is written again. */
async function stampOf(path: string): Promise<string | null> {
  const stats = await stat(path).catch(() => null);
  return stats === null ? null : `${stats.size} ${stats.mtimeMs} ${stats.ino}`;
}
