import { maskHandlesAndUrls, normalizeText } from './text-scanner.ts';

/** Words; a Chinese or Japanese character is one. */
const WORD = /\p{Script=Han}|[\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_']+/gu;
/** The words of masked handles and links, also in data sets that come masked. */
const MASKS = new Set(['user', 'httpurl', 'url']);

/** The words of a text in order and in lower case, without handles and links. */
export function wordsOf(text: string): string[] {
  const words = maskHandlesAndUrls(normalizeText(text)).toLowerCase().match(WORD) ?? [];
  return words.filter((word) => !MASKS.has(word));
}

export function wordSet(text: string): ReadonlySet<string> {
  return new Set(wordsOf(text));
}

/** |A ∩ B| / |A ∪ B| in [0, 1]; 0 if both are empty. */
export function jaccardIndex(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of left) if (right.has(word)) shared++;
  return shared / Math.max(1, left.size + right.size - shared);
}
