import { wordSet } from '../text/word-set.ts';
import type { Thread } from './thread.ts';

/** The share of common words (Jaccard index) from which a claim nearly repeats another. */
export const nearDuplicateAt = 0.5;

/**
 * The threads whose claims nearly repeat a claim of `others`: the Jaccard index of their words (Broder, "On the
 * resemblance and containment of documents", 1997, with shingles of one word) is at least `similarity`. An index of
 * words computes it exactly, without hashing or chance.
 * @param options.similarity in (0, 1]; of single words, because posts are short: one edit breaks every longer shingle
 *   around it
 */
export function nearDuplicates(
  threads: readonly Thread[],
  { of, similarity }: { of: readonly Thread[]; similarity: number },
): Set<Thread> {
  const similarTo = similarClaims(of, similarity);
  return new Set(threads.filter((thread) => similarTo(thread).length > 0));
}

/** Places of every two threads whose claims nearly repeat each other, the smaller place first. */
export function nearDuplicatePairs(threads: readonly Thread[], similarity: number): [number, number][] {
  const similarTo = similarClaims(threads, similarity);
  return threads.flatMap((thread, place) =>
    similarTo(thread)
      .filter((other) => other > place)
      .map((other): [number, number] => [place, other]),
  );
}

/** Returns the places of the claims that are similar to a thread's. */
function similarClaims(of: readonly Thread[], similarity: number): (thread: Thread) => number[] {
  const claims = of.map(({ posts: [claim] }) => wordSet(claim.text));
  const claimsWith = new Map<string, number[]>();
  for (const [index, words] of claims.entries())
    for (const word of words) {
      const places = claimsWith.get(word);
      if (places === undefined) claimsWith.set(word, [index]);
      else places.push(index);
    }
  const shared = new Int32Array(claims.length);
  return ({ posts: [claim] }) => {
    const words = wordSet(claim.text);
    shared.fill(0);
    for (const word of words) for (const index of claimsWith.get(word) ?? []) shared[index]++;
    return [...shared.keys()].filter(
      (index) => shared[index] > 0 && shared[index] >= similarity * (words.size + claims[index].size - shared[index]),
    );
  };
}
