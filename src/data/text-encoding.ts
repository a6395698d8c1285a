import { TextDecoder } from 'node:util';
import { InputError } from '../errors.ts';

/** Bytes that are decoded at most to show an example of a text. */
const shownBytes = 60;

/**
 * The encoding of a text by its first bytes: a byte order mark, or UTF-16 of Latin letters, in which every second byte
 * is 0. Null without a sign, which then means UTF-8.
 */
export function markedEncoding(start: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | null {
  const [a, b, c, d] = start;
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  if (start.length < 4) return null;
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return 'utf-16le';
  return a === 0 && b !== 0 && c === 0 && d !== 0 ? 'utf-16be' : null;
}

/** A whole text, from the encoding of its mark, or else UTF-8. What is no text of it becomes U+FFFD. */
export function decodedText(bytes: Uint8Array): string {
  return new TextDecoder(markedEncoding(bytes) ?? 'utf-8').decode(bytes);
}

/** @throws InputError for a name without a decoder */
export function encodingNamed(name: string): string {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    throw new InputError(
      `--encoding ${name} is not known; give a name such as gbk, big5, shift_jis, euc-kr, windows-1252, windows-1251 or utf-16le`,
    );
  }
}

/** Advice on bytes that are not UTF-8: the likeliest encodings, each with the text in it. */
export function encodingAdvice(bytes: Uint8Array): string {
  const foreign = bytes.findIndex((byte) => byte >= 0x80);
  // The line with the bytes, from a few words before them.
  const lineStart = bytes.lastIndexOf(0x0a, Math.max(0, foreign)) + 1;
  const start = Math.max(lineStart, foreign - shownBytes / 2);
  const lineEnd = bytes.indexOf(0x0a, start);
  const line = bytes.subarray(start, lineEnd < 0 ? undefined : lineEnd).subarray(0, shownBytes);
  const readings = ['gbk', 'windows-1252', 'windows-1251'].flatMap((name) => {
    try {
      // As a stream, because the last character may be incomplete.
      const text = new TextDecoder(name, { fatal: true }).decode(line, { stream: true });
      return [`--encoding ${name} if it should read “${text.trim()}”`];
    } catch {
      return [];
    }
  });
  return `\`earshot data import\` and \`select\` take ${readings.join(', ') || '--encoding <name>'}; anywhere else, and in formats of folders, convert the file to UTF-8`;
}
