import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { InputError } from '../errors.ts';
import { missingPath } from '../missing-path.ts';
import { BadItemError } from './bad-item.ts';
import { encodingAdvice, markedEncoding } from './text-encoding.ts';

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
  for await (const line of linesOf(bytesIn(path), { ...options, path, endsAtReturn: false })) {
    if (line.isCut) throw new InputError(`${path}:${line.number}: the line ${aboveLimit(options)}`);
    yield line;
  }
}

/** Reads the lines of a file of JSON Lines, plain or gzip. */
export function readJsonTexts(path: string, options: ReadingOptions = {}): ReturnType<typeof linesOf> {
  return linesOf(bytesIn(path), { ...options, path });
}

interface TextSource extends ReadingOptions {
  /** The file or stream in messages. */
  readonly path: string;
}

/** Characters that remain of a line above the limit. */
const keptCharacters = 4096;

/**
 * Reads the lines of a stream, each as soon as it is complete. Blank lines are counted but not returned. A line above the
 * limit is cut.
 * @param source.endsAtReturn whether a bare carriage return ends a line, as by default: texts in JSON have none
 * @throws InputError for bytes of another encoding, or broken gzip
 */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array | string>,
  { mostBytes = sizeLimit(), endsAtReturn = true, ...source }: TextSource & { endsAtReturn?: boolean },
): AsyncGenerator<TextLine & { readonly isCut: boolean }> {
  const lineEnd = endsAtReturn ? /\r\n|\r|\n/ : '\n';
  let number = 1;
  let line = '';
  let length = 0;
  let isCut = false;
  // A return at the end of a piece may belong to a line feed.
  let pending = '';
  for await (const piece of textOf(bytes, source)) {
    const text = pending + piece;
    pending = endsAtReturn && text.endsWith('\r') ? '\r' : '';
    const parts = text.slice(0, text.length - pending.length).split(lineEnd);
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        if (!isCut && line.trim() !== '') yield { number, text: line, isCut };
        [number, line, length, isCut] = [number + 1, '', 0, false];
      }
      if (isCut) continue;
      line += part;
      length += Buffer.byteLength(part);
      if (length <= mostBytes) continue;
      isCut = true;
      // A reader that refuses the line need not wait for its end, which may be far away.
      yield { number, text: line.slice(0, keptCharacters), isCut };
      line = '';
    }
  }
  if (!isCut && line.trim() !== '') yield { number, text: line, isCut };
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
export function readText(path: string, options: ReadingOptions = {}): AsyncGenerator<string> {
  return textOf(bytesIn(path), { ...options, path });
}

/** Reads a file as one string, like `readText`. @throws BadItemError also for a text above the limit */
export function readWholeText(path: string, options: ReadingOptions = {}): Promise<string> {
  return wholeText(bytesIn(path), { ...options, path });
}

/** Reads a stream as one string. */
export async function wholeText(
  bytes: AsyncIterable<Uint8Array>,
  { mostBytes = sizeLimit(), ...source }: TextSource,
): Promise<string> {
  let text = '';
  for await (const piece of textOf(bytes, source)) {
    text += piece;
    if (text.length > mostBytes)
      throw new BadItemError(
        `${source.path} must be read whole and has more than ${megabytesOf(mostBytes)} MB; write it as JSON Lines, which are read one at a time, or split it, or set EARSHOT_MAX_LINE_MB to more megabytes`,
      );
  }
  return text;
}

/** Decodes a stream, from the encoding of its mark, or else the one that is named, or else UTF-8. */
async function* textOf(
  bytes: AsyncIterable<Uint8Array | string>,
  { path, encoding = 'utf-8' }: TextSource,
): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let isStart = true;
  let lines = 0;
  let [before, last]: Uint8Array[] = [new Uint8Array(), new Uint8Array()];
  try {
    for await (const chunk of bytes) {
      if (typeof chunk === 'string') {
        yield chunk;
        continue;
      }
      decoder ??= new TextDecoder(markedEncoding(chunk) ?? encoding, { fatal: true });
      [before, last] = [last, chunk];
      const decoded = decoder.decode(chunk, { stream: true });
      // Programs that add a mark to a text may find one there.
      const text = isStart ? decoded.replace(/^\ufeff/, '') : decoded;
      isStart &&= decoded === '';
      lines += text.split('\n').length - 1;
      yield text;
    }
    [before, last] = [last, new Uint8Array()];
    yield decoder?.decode() ?? '';
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA'))
      throw readingError(error, { path, line: lines });
    const after = (line: number) => (line === 0 ? '' : ` after line ${line}`);
    if (decoder?.encoding !== 'utf-8')
      throw new InputError(`${path}: the text${after(lines)} is not ${decoder?.encoding}; give another --encoding`);
    // The lines before the wrong one are still read.
    const whole = Buffer.concat([unfinished(before), last]);
    for (let from = 0, end = 0; ; from = end + 1, lines++) {
      end = whole.indexOf('\n', from);
      const line = whole.subarray(from, end < 0 ? undefined : end);
      if (end < 0 || !isUtf8(line))
        throw new BadItemError(`${path}: the text${after(lines)} is not UTF-8; ${encodingAdvice(line)}`);
      yield `${line}\n`;
    }
  }
}

/** The bytes at the end that begin a character of UTF-8. */
function unfinished(bytes: Uint8Array): Uint8Array {
  const back = [1, 2, 3].find((length) => (bytes.at(-length) ?? 0) >= 0xc0) ?? 0;
  const first = bytes.at(-back) ?? 0;
  const needed = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return back > 0 && needed > back ? bytes.subarray(-back) : new Uint8Array();
}

/** The bytes of a file, unpacked. */
export async function* bytesIn(path: string): AsyncGenerator<Uint8Array> {
  const isPacked = await isGzip(path);
  const file = createReadStream(path);
  // The reader sees the errors of both streams through the last.
  yield* isPacked ? pipeline(file, createGunzip(), () => {}) : file;
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
  [
    /^53514c697465/,
    'is an SQLite database; export its posts as CSV, or an annotation store by `earshot annotations export`',
  ],
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
function readingError(error: unknown, place: { path: string; line: number }): unknown {
  const problem = error instanceof Error ? readingProblem(error, place) : null;
  return problem === null ? error : new BadItemError(problem);
}

function readingProblem(error: Error, { path, line }: { path: string; line: number }): string | null {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return /^https?:/.test(path) ? `${path} is an address: download it first` : missingPath(path);
  if (code === 'EACCES' || code === 'EPERM') return `${path} may not be read (${code})`;
  if (code.startsWith('Z_'))
    return `${path}: the gzip data breaks off after line ${line} (${error.message}); copy or compress the file again`;
  return null;
}
