import { maskHandlesAndUrls, normalizeText } from '../../../src/text/normalize.ts';
import { BoundedCache } from './text-reader.ts';

/** Words; a character of Chinese or Japanese is one. */
const WORD = /\p{Script=Han}|[\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_']+/gu;
/** What masks of handles and links leave. */
const MASKS = new Set(['user', 'httpurl']);
/** Words held, of about 50 bytes each. */
const CACHED_WORDS = 2_000_000;

/**
 * A function that gives the share of words that a reply and its claim have in common (Jaccard index, in [0, 1]): 0 where they
 * share none, 1 where the reply says the claim again. Handles and links do not count.
 */
export function claimOverlapReader(): (texts: { claim: string; post: string }) => number {
  const cache = new BoundedCache<ReadonlySet<string>>({
    maximumSize: CACHED_WORDS,
    sizeOf: (words) => words.size + 2,
  });
  const wordsOf = (text: string) => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const found = maskHandlesAndUrls(normalizeText(text)).toLowerCase().match(WORD) ?? [];
    const words = new Set(found.filter((word) => !MASKS.has(word)));
    cache.set(text, words);
    return words;
  };
  return ({ claim, post }) => {
    const [ofClaim, ofPost] = [wordsOf(claim), wordsOf(post)];
    let shared = 0;
    for (const word of ofPost) if (ofClaim.has(word)) shared++;
    return shared / Math.max(1, ofClaim.size + ofPost.size - shared);
  };
}
