import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { InputError } from '../errors.ts';
import { missingPath } from '../missing-path.ts';
import { BadItemError } from './bad-item.ts';
import { encodingAdvice, inUtf8 } from './text-encoding.ts';

/** One line of a file, without its line end. */
export interface TextLine {
  /** Counted from 1, as in editors. */
  readonly number: number;
  readonly text: string;
}

export interface ReadingOptions {
  /** The encoding of the text; that of its mark, or else UTF-8, by default. */
  readonly encoding?: string | undefined;
  /** Bytes that a line, a row of a table or a whole text may have; see `sizeLimit`. */
  readonly mostBytes?: number | undefined;
}

/**
 * Reads the lines of a text file, plain or gzip, one at a time. Blank lines are counted but not returned.
 * @throws InputError for a file that is missing, empty, a folder, in another encoding or broken gzip, or a line above
 *   the limit
 */
export async function* readLines(path: string, options: ReadingOptions = {}): AsyncGenerator<TextLine> {
  const { mostBytes = sizeLimit() } = options;
  for await (const line of linesOf(await openText(path, options), { path, mostBytes, endsAtReturn: false })) {
    if (line.isCut) throw new InputError(`${path}:${line.number}: the line ${aboveLimit(options)}`);
    yield line;
  }
}

/** Reads the lines of a file of JSON Lines, plain or gzip. */
export async function* readJsonTexts(path: string, options: ReadingOptions = {}): ReturnType<typeof linesOf> {
  const { mostBytes = sizeLimit() } = options;
  yield* linesOf(await openText(path, options), { path, mostBytes });
}

interface LineSource extends Pick<ReadingOptions, 'mostBytes'> {
  readonly path: string;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** Bytes that remain of a line above the limit. */
const keptBytes = 4096;

/**
 * Reads the lines of a stream of UTF-8, each as soon as it is complete. Blank lines are counted but not returned. A line
 * above the limit is cut.
 * @param source.path the name of the stream in messages
 * @param source.endsAtReturn whether a bare carriage return ends a line, as by default: texts in JSON have none
 * @throws InputError for bytes that are not UTF-8, or broken gzip
 */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array | string>,
  { path, mostBytes = sizeLimit(), endsAtReturn = true }: LineSource & { endsAtReturn?: boolean },
): AsyncGenerator<TextLine & { readonly isCut: boolean }> {
  // A byte order mark may precede the first line; elsewhere it is a character.
  const first = new TextDecoder('utf-8', { fatal: true });
  const further = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let number = 0;
  /** Pieces of a line that is not complete. */
  let pieces: Uint8Array[] = [];
  let held = 0;
  let isCut = false;
  let isTold = false;
  let last: Uint8Array = new Uint8Array();
  const keep = (piece: Uint8Array) => {
    if (isCut) return;
    pieces.push(piece);
    held += piece.length;
    if (held <= mostBytes) return;
    isCut = true;
    pieces = [Buffer.concat(pieces.map((piece) => piece.subarray(0, keptBytes))).subarray(0, keptBytes)];
  };
  const lineSoFar = () => {
    const whole = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
    last = whole;
    const decoder = isCut ? new TextDecoder() : number === 0 ? first : further;
    // As a stream, because the last character may be incomplete.
    const text = decoder.decode(whole, { stream: isCut });
    return { number: number + 1, text, isCut };
  };
  /** The line that ends here; null if it was returned before, or is blank. */
  const taken = () => {
    const line = isTold ? null : lineSoFar();
    number++;
    [pieces, held, isCut, isTold] = [[], 0, false, false];
    return line === null || (!line.isCut && line.text.trim() === '') ? null : line;
  };
  let isAfterReturn = false;
  try {
    for await (const chunk of bytes) {
      const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      if (buffer.length === 0) continue;
      let from = 0;
      // A return and a line feed end one line, even in two chunks.
      if (isAfterReturn && buffer[0] === lineFeed) from++;
      isAfterReturn = false;
      let feed = buffer.indexOf(lineFeed, from);
      let back = endsAtReturn ? buffer.indexOf(carriageReturn, from) : -1;
      while (feed >= 0 || back >= 0) {
        const end = back >= 0 && (feed < 0 || back < feed) ? back : feed;
        keep(buffer.subarray(from, end));
        const line = taken();
        const isReturn = end === back;
        isAfterReturn = isReturn && end + 1 === buffer.length;
        from = isReturn && feed === end + 1 ? end + 2 : end + 1;
        if (feed >= 0 && feed < from) feed = buffer.indexOf(lineFeed, from);
        if (back >= 0 && back < from) back = buffer.indexOf(carriageReturn, from);
        if (line !== null) yield line;
      }
      if (from < buffer.length) keep(buffer.subarray(from));
      // A reader that refuses the line need not wait for its end, which may be far away.
      if (isCut && !isTold) {
        isTold = true;
        yield lineSoFar();
      }
    }
    const rest = taken();
    if (rest !== null) yield rest;
  } catch (error) {
    throw readingError(error, { path, line: number, bytes: last });
  }
}

const megabyte = 2 ** 20;

/** The limit by default; few lines are longer. */
const usualMegabytes = 256;
/** JavaScript cannot hold longer texts. */
export const mostMegabytes = 500;

/**
 * The bytes that a line or a whole text may have: 256 MB, or the megabytes of EARSHOT_MAX_LINE_MB.
 * @throws InputError for a value that is not a number
 */
export function sizeLimit(): number {
  const setting = process.env.EARSHOT_MAX_LINE_MB ?? '';
  const megabytes = setting === '' ? usualMegabytes : Number(setting);
  if (megabytes > 0 && megabytes <= mostMegabytes) return megabytes * megabyte;
  throw new InputError(
    `EARSHOT_MAX_LINE_MB is ${JSON.stringify(setting)}; it must be a number of megabytes up to ${mostMegabytes}`,
  );
}

function megabytesOf(bytes: number): number {
  return Number((bytes / megabyte).toPrecision(3));
}

/** The reason against more bytes than the limit in a line or a row. */
export function aboveLimit({ mostBytes = sizeLimit() }: Pick<ReadingOptions, 'mostBytes'>): string {
  return `has more than ${megabytesOf(mostBytes)} MB, which is too much to hold at once. If it is meant to be so long, set EARSHOT_MAX_LINE_MB to more megabytes; otherwise look for missing line ends`;
}

/**
 * Reads the text of a file, plain or gzip, in pieces.
 * @throws InputError for a file that is missing, empty, a folder, in another encoding or broken gzip
 */
export async function readText(path: string, options: ReadingOptions = {}): Promise<AsyncGenerator<string>> {
  return decode(await openText(path, options), path);
}

/** Reads a file as one string, like `readText`. @throws BadItemError also for a text above the limit */
export async function readWholeText(path: string, options: ReadingOptions = {}): Promise<string> {
  return wholeText(await openText(path, options), { ...options, path });
}

/** Reads a stream of UTF-8 as one string. */
export async function wholeText(
  bytes: AsyncIterable<Uint8Array>,
  { path, mostBytes = sizeLimit() }: LineSource,
): Promise<string> {
  let text = '';
  for await (const piece of decode(bytes, path)) {
    text += piece;
    if (text.length > mostBytes)
      throw new BadItemError(
        `${path} must be read whole and has more than ${megabytesOf(mostBytes)} MB; write it as JSON Lines, which are read one at a time, or split it, or set EARSHOT_MAX_LINE_MB to more megabytes`,
      );
  }
  return text;
}

async function* decode(bytes: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  let last: Uint8Array = new Uint8Array();
  try {
    for await (const chunk of bytes) {
      last = chunk;
      const text = decoder.decode(chunk, { stream: true });
      line += text.split('\n').length - 1;
      yield text;
    }
    yield decoder.decode();
  } catch (error) {
    throw readingError(error, { path, line, bytes: last });
  }
}

/** Opens a file as UTF-8. */
async function openText(path: string, { encoding }: ReadingOptions = {}): Promise<AsyncIterable<Uint8Array>> {
  const isPacked = await isGzip(path);
  const file = createReadStream(path);
  if (!isPacked) return inUtf8(file, { path, encoding });
  const unzipped = createGunzip();
  // The reader sees the errors of both streams through `unzipped`.
  pipeline(file, unzipped, () => {});
  return inUtf8(unzipped, { path, encoding });
}

const unpack = 'which is not read; unpack it, or pack it with gzip';
/** First bytes, in hexadecimal, of files that people often pass instead of text, with the remedy. */
const noText: readonly (readonly [RegExp, string])[] = [
  [/^504b0304/, 'is a zip archive or a spreadsheet; unpack it, or save the sheet as "CSV UTF-8"'],
  [/^50415231/, 'is a Parquet file; `earshot data import parquet` reads tables of posts'],
  [/^425a68/, `is packed with bzip2, ${unpack}`],
  [/^fd377a585a/, `is packed with xz, ${unpack}`],
  [/^28b52ffd/, `is packed with zstd, ${unpack}`],
  [/^d0cf11e0a1b1/, 'is an old Excel workbook; save the sheet as "CSV UTF-8"'],
  [/^255044462d/, 'is a PDF; a table, or JSON, is needed here'],
  [/^53514c697465/, 'is an SQLite database; export its posts as CSV'],
  [/^(fffe0000|0000feff)/, 'is in UTF-32, which is not read; convert it to UTF-8'],
];

/** Decides by the first bytes, not by the name. A file that ends in .gz and is not gzip is an error. */
async function isGzip(path: string): Promise<boolean> {
  await assertFile(path);
  const handle = await open(path).catch((error: unknown) => {
    throw readingError(error, { path, line: 0 });
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(6), 0, 6, 0);
    const start = buffer.toString('hex', 0, bytesRead);
    const isPacked = start.startsWith('1f8b');
    const isMisnamed = !isPacked && path.endsWith('.gz');
    const misnamed =
      `ends in .gz but is not gzip: it starts with the bytes ${start.slice(0, 4)}, not 1f8b. ` +
      'Rename it if it is plain text, or compress it again';
    const problem = noText.find(([beginning]) => beginning.test(start))?.[1] ?? (isMisnamed ? misnamed : null);
    if (problem !== null) throw new BadItemError(`${path} ${problem}`);
    return isPacked;
  } finally {
    await handle.close();
  }
}

/** @throws InputError for a path that is missing, a folder or an empty file */
export async function assertFile(path: string): Promise<void> {
  const stats = await stat(path).catch((error: unknown) => {
    throw readingError(error, { path, line: 0 });
  });
  const problems = [
    stats.isDirectory() && 'is a directory; a file is needed here',
    !stats.isFile() &&
      'is a pipe or a device, which can be read only once; write it into a file first, or let `decide` read standard input',
    stats.size === 0 && 'is empty (0 bytes); was writing it interrupted?',
  ];
  const problem = problems.find((text) => text !== false);
  if (problem !== undefined) throw new BadItemError(`${path} ${problem}`);
}

/** The error for a failed reading, with its remedy; an error that is not about the file is returned unchanged. */
function readingError(error: unknown, place: { path: string; line: number; bytes?: Uint8Array }): unknown {
  const problem = error instanceof Error ? readingProblem(error, place) : null;
  return problem === null ? error : new BadItemError(problem);
}

function readingProblem(
  error: Error,
  { path, line, bytes = new Uint8Array() }: { path: string; line: number; bytes?: Uint8Array },
): string | null {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return /^https?:/.test(path) ? `${path} is an address: download it first` : missingPath(path);
  if (code === 'EACCES' || code === 'EPERM') return `${path} may not be read (${code})`;
  if (code.startsWith('Z_'))
    return `${path}: the gzip data breaks off after line ${line} (${error.message}); copy or compress the file again`;
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return `${path}: the text${line === 0 ? '' : ` after line ${line}`} is not UTF-8; ${encodingAdvice(bytes)}`;
  return null;
}
