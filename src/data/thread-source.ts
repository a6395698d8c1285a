import { stat } from 'node:fs/promises';
import { InputError } from '../errors.ts';
import type { SkipOptions } from './bad-item.ts';
import { readJsonTexts } from './text-lines.ts';
import type { Thread } from './thread.ts';
import { parseJson, parseThread, readPlacedThreads } from './thread-file.ts';

/*
 * A file of a million threads does not fit into memory, and an experiment needs a few hundred of them. So a split reads
 * a few facts of each thread, and only drawn threads are loaded.
 */

/** The facts of a thread that a split needs. */
export type ThreadFacts = Pick<Thread, 'id' | 'event' | 'rumor' | 'veracity' | 'labels' | 'chosen'>;

/** A thread of a source, which can be loaded from there. */
export interface IndexedThread extends ThreadFacts {
  /** The thread's position in the source. */
  readonly place: number;
}

/** Threads of a file or in memory. */
export interface ThreadSource {
  /** The threads in the order of the source. */
  readonly threads: readonly IndexedThread[];
  /** Loads the threads one at a time, in the order of the source. */
  read(selection: readonly IndexedThread[]): AsyncGenerator<Thread>;
}

/** Loads the threads, in the order of `selection`. */
export async function loadIndexed(source: ThreadSource, selection: readonly IndexedThread[]): Promise<Thread[]> {
  const byId = new Map<string, Thread>();
  for await (const thread of source.read(selection)) byId.set(thread.id, thread);
  return selection.map(({ id }) => byId.get(id)!);
}

export function sourceOfThreads(threads: readonly Thread[]): ThreadSource {
  return {
    threads: threads.map(factsOf),
    async *read(selection) {
      for (const { place } of selection.toSorted((a, b) => a.place - b.place)) yield threads[place];
    },
  };
}

/** Smaller files, unpacked, stay in memory, so that no thread is read twice. */
const smallCharacters = 2 ** 26;

/**
 * Reads a thread file once, validates every line, and keeps the facts for splits; see `readThreads`.
 * @param options.shaped changes every thread before anything else
 * @param options.onThread called with each thread once, in order
 * @param options.keptCharacters smaller files, unpacked, stay in memory
 * @throws InputError as `readThreads`; later, if the file has changed
 */
export async function indexThreadFile(
  path: string,
  options: SkipOptions & {
    shaped?: ((thread: Thread) => Thread) | undefined;
    onThread?: ((thread: Thread) => void) | undefined;
    keptCharacters?: number;
  } = {},
): Promise<ThreadSource> {
  const { shaped = (thread) => thread, onThread, keptCharacters = smallCharacters, ...skipping } = options;
  const stamp = await stampOf(path);
  const events = new Map<string, string>();
  const facts: IndexedThread[] = [];
  const lineNumbers: number[] = [];
  let characters = 0;
  let inMemory: Thread[] | null = [];
  for await (const { thread: read, line } of readPlacedThreads(path, skipping)) {
    const thread = shaped(read);
    onThread?.(thread);
    const threadFacts = factsOf(thread, facts.length);
    // One string for all threads of an event.
    const event = threadFacts.event === null ? null : (events.get(threadFacts.event) ?? threadFacts.event);
    if (event !== null) events.set(event, event);
    facts.push({ ...threadFacts, event });
    lineNumbers.push(line.number);
    characters += line.text.length;
    if (characters > keptCharacters) inMemory = null;
    inMemory?.push(thread);
  }
  const whole = inMemory;
  if (whole !== null) return { ...sourceOfThreads(whole), threads: facts };
  return {
    threads: facts,
    async *read(selection) {
      if ((await stampOf(path)) !== stamp)
        throw new InputError(`${path} was changed while it was in use; give the command again`);
      const selected = new Set(selection.map(({ place }) => lineNumbers[place]));
      if (selected.size === 0) return;
      for await (const { number, text } of readJsonTexts(path)) {
        if (!selected.delete(number)) continue;
        yield shaped(parseThread(parseJson(text, path), { place: path }));
        if (selected.size === 0) return;
      }
    },
  };
}

function factsOf({ id, event, rumor, veracity, labels, chosen }: Thread, place: number): IndexedThread {
  const optional = { ...(labels !== undefined && { labels }), ...(chosen !== undefined && { chosen }) };
  return { id, event, rumor, veracity, ...optional, place };
}

/** Facts of a file that change when it is written again. */
async function stampOf(path: string): Promise<string | null> {
  const stats = await stat(path).catch(() => null);
  return stats === null ? null : `${stats.size} ${stats.mtimeMs} ${stats.ino}`;
}
