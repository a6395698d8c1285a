import { wordSet } from '../text/word-set.ts';
import type { Thread } from './thread.ts';

/**
 * The threads whose claims nearly repeat a claim of the others: the Jaccard index of their words (Broder, "On the resemblance
 * and containment of documents", 1997, with shingles of one word) is at least `similarity`. It is computed exactly, through an
 * index of words, so there is no hashing and no chance in it.
 * @param options.similarity in (0, 1]; of single words, because posts are short: one edit breaks every longer shingle around it
 */
export function nearDuplicates(
  threads: readonly Thread[],
  { of, similarity }: { of: readonly Thread[]; similarity: number },
): Set<Thread> {
  const claims = of.map(({ posts: [claim] }) => wordSet(claim.text));
  const claimsWith = new Map<string, number[]>();
  for (const [index, words] of claims.entries())
    for (const word of words) {
      const known = claimsWith.get(word);
      if (known === undefined) claimsWith.set(word, [index]);
      else known.push(index);
    }
  const shared = new Int32Array(claims.length);
  return new Set(
    threads.filter(({ posts: [claim] }) => {
      const words = wordSet(claim.text);
      shared.fill(0);
      for (const word of words) for (const index of claimsWith.get(word) ?? []) shared[index]++;
      return shared.some(
        (count, index) => count > 0 && count >= similarity * (words.size + claims[index].size - count),
      );
    }),
  );
}
