import { jaccardIndex, wordSet } from '../../../src/text/word-set.ts';
import { BoundedCache } from './text-reader.ts';

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
  const wordsIn = (text: string) => {
    const known = cache.get(text) ?? wordSet(text);
    cache.set(text, known);
    return known;
  };
  return ({ claim, post }) => jaccardIndex(wordsIn(claim), wordsIn(post));
}
