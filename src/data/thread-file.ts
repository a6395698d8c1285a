import { existsSync } from 'node:fs';
import { z } from 'zod';
import { writeText } from '../atomic-file.ts';
import { InputError } from '../errors.ts';
import { roundedInteger, withoutNaN, withWholeIntegers } from '../json.ts';
import { quoted } from '../shell-words.ts';
import { badItem, eachOrSkip, parseItem, type SkipOptions } from './bad-item.ts';
import { aboveLimit, linesOf, type ReadingOptions, readJsonTexts, type TextLine } from './text-lines.ts';
import { type Thread, threadSchema } from './thread.ts';

/**
 * Reads threads of a JSON Lines file, plain or gzip, one at a time, in order.
 * @throws InputError for a file that cannot be read or has no threads, or a bad line that is not skipped
 */
export async function* readThreads(path: string, options: SkipOptions = {}): AsyncGenerator<Thread> {
  for await (const { thread } of readPlacedThreads(path, options)) yield thread;
}

/** Reads threads like `readThreads`, each with its line. */
export async function* readPlacedThreads(
  path: string,
  options: SkipOptions = {},
): AsyncGenerator<{ readonly thread: Thread; readonly line: TextLine }> {
  const lineOfId = new Map<string, number>();
  let bad = 0;
  const counting: SkipOptions = {
    skipInvalid: options.skipInvalid,
    onSkipped: (line) => {
      bad++;
      options.onSkipped?.(line);
    },
  };
  refuseTable(path);
  yield* itemsOfLines(readJsonTexts(path), { ...counting, name: path }, (value, place, line) => {
    const thread = strictThread(value, { place, line, path });
    const first = lineOfId.get(thread.id);
    if (first !== undefined)
      throw badItem(thread.id, {
        place: `${place} id`,
        reason: `repeats the thread id of line ${first}; ids are unique within a file (\`earshot data import threads\` leaves out exact copies)`,
      });
    lineOfId.set(thread.id, line.number);
    return { thread, line };
  });
  if (lineOfId.size === 0)
    throw new InputError(`${path} holds no threads${bad === 0 ? '' : `: all ${bad} lines are invalid`}`);
}

/**
 * Reads threads of a stream of JSON Lines, each as soon as its line is complete. A thread may return with more posts.
 * @param source.name the name of the stream in messages
 * @throws InputError for a bad line that is not skipped
 */
export function threadsOfStream(
  stream: AsyncIterable<Uint8Array | string>,
  options: SkipOptions & { name: string },
): AsyncGenerator<Thread> {
  return itemsOfLines(linesOf(stream, { path: options.name }), options, (value, place, line) =>
    strictThread(value, { place, line }),
  );
}

/** @throws BadItemError for a thread that is not valid, or has a number that loses digits */
function strictThread(value: unknown, { line, ...at }: ThreadPlace & { line: TextLine }): Thread {
  const thread = parseThread(value, at);
  const rounded = roundedInteger(line.text);
  if (rounded === null) return thread;
  throw badItem(value, {
    place: at.place,
    reason: `the number ${rounded} has so many digits that it loses the last ones; write it in quotes, as \`earshot data import threads\` does`,
  });
}

/** Characters of a too long line that messages show. */
const shownOfLine = 40;

/**
 * Reads items of foreign JSON Lines, each as soon as its line is complete.
 * @param options.name the name of the file in messages
 * @param parse makes an item of a line's value, or throws a BadItemError
 * @throws InputError for a bad line that is not skipped
 */
export function itemsOfLines<Item>(
  lines: ReturnType<typeof linesOf>,
  { name, mostBytes, ...options }: SkipOptions & Pick<ReadingOptions, 'mostBytes'> & { name: string },
  parse: (value: unknown, place: string, line: TextLine) => Item,
): AsyncGenerator<Item> {
  return eachOrSkip(lines, options, (line) => {
    const place = `${name}:${line.number}`;
    if (line.isCut)
      throw badItem(line.text.slice(0, shownOfLine), {
        place,
        reason: `the line ${aboveLimit({ mostBytes })}`,
      });
    return parse(parseJsonLine(line.text, place), place, line);
  });
}

/** Loads all threads of a file at once; see `readThreads`. */
export async function loadThreads(path: string, options: SkipOptions = {}): Promise<Thread[]> {
  const threads: Thread[] = [];
  for await (const thread of readThreads(path, options)) threads.push(thread);
  return threads;
}

/**
 * Writes one thread per line, as gzip if the name ends in `.gz`; see `writeText`.
 * @returns the number of threads
 * @throws InputError for no threads, or if the disk refuses
 */
export async function writeThreads(path: string, threads: Iterable<Thread> | AsyncIterable<Thread>): Promise<number> {
  let written = 0;
  async function* lines(): AsyncGenerator<string> {
    for await (const thread of threads) {
      written++;
      yield `${JSON.stringify(thread)}\n`;
    }
    if (written === 0) throw new InputError(`there are no threads to write to ${path}`);
  }
  await writeText(path, { texts: lines(), what: 'threads' });
  return written;
}

/**
 * Parses foreign JSON at `place`. Integers that are no exact numbers become texts, and Python's form of a missing
 * number becomes null.
 * @throws BadItemError for a text that is not JSON
 */
export function parseJson(text: string, place: string): unknown {
  const whole = withWholeIntegers(text);
  const plain = /\b(?:NaN|Infinity)\b/.test(whole) ? withoutNaN(whole) : whole;
  try {
    return JSON.parse(plain);
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message.replace(/, (\.\.\.)?".*/s, '') : String(error);
    const advice = /after JSON/.test(reason)
      ? ': several values follow one another, so write each on a line of its own (`jq -c .`), or all as one list'
      : '';
    throw badItem(text, { place, reason: `is not JSON (${reason})${advice}` });
  }
}

/**
 * Parses a line of JSON Lines at `place`.
 * @throws BadItemError for a text that is not JSON, or that is an array or an object of several lines
 */
function parseJsonLine(text: string, place: string): unknown {
  const value = /^\s*[[{]\s*$/.test(text) ? [] : parseJson(text, place);
  if (!Array.isArray(value)) return value;
  throw badItem(text, {
    place,
    reason:
      'is not one whole object, and each line has to be one (JSON Lines); `earshot data import threads` reads a list of them, too, and writes lines',
  });
}

const singleItem = z
  .looseObject({ text: z.string().nullable(), posts: z.undefined().optional() })
  .refine(({ replies, comments, reactions }) => ![replies, comments, reactions].some(Array.isArray));

/** The place of a thread, for messages. */
interface ThreadPlace {
  readonly place: string;
  /** The file, if there is one that commands can read. */
  readonly path?: string;
}

/** Validates a thread at `place`. @throws BadItemError with the problem; for a single post, the importer to use */
export function parseThread(value: unknown, { place, path }: ThreadPlace): Thread {
  if (singleItem.safeParse(value).success && !threadSchema.safeParse(value).success) {
    const command = (format: string) =>
      `\`earshot data import ${format} ${path === undefined ? '<file>' : quoted(path)} --out threads.jsonl\``;
    throw badItem(value, {
      place,
      reason: `has a text but no posts. Where it is a post, ${command('posts')} puts the posts of a conversation together; where it is an article, ${command('articles')} makes a thread of each`,
    });
  }
  return parseItem(threadSchema, { value, place });
}

/** @throws InputError for a file with the name of a table, with the command that makes threads of it */
export function refuseTable(path: string, { after = '' }: { after?: string } = {}): void {
  const [, ending] = /\.(csv|tsv|parquet)(?:\.gz)?$/i.exec(path) ?? [];
  // Reading a file that is not there says so.
  if (ending === undefined || !existsSync(path)) return;
  const format = ending.toLowerCase() === 'parquet' ? 'parquet' : 'csv';
  throw new InputError(
    `${path} is a table; make threads of it first: \`earshot data import ${format} ${quoted(path)} --out threads.jsonl\`${after}`,
  );
}
