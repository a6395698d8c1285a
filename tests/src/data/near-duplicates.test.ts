import { describe, expect, it } from 'vitest';
import { nearDuplicates } from '../../../src/data/near-duplicates.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { jaccardIndex, wordSet } from '../../../src/text/word-set.ts';

function claim(text: string): Thread {
  return {
    id: text,
    event: null,
    veracity: null,
    rumor: null,
    posts: [{ id: text, time: null, author: null, parent: null, text, stance: null }],
  };
}

describe('nearDuplicates', () => {
  const tested = [claim('Police close all shops in Paris'), claim('Two gunmen in the café')];

  it('finds claims that share the given part of their words, whatever the case, handles and links', () => {
    const same = claim('POLICE close all shops in paris! https://t.co/abc @user');
    // 5 of 8 words.
    const edited = claim('Police close all shops in Lyon today');
    const other = claim('Shops in Paris');
    const unrelated = claim('Nothing to see here');
    const threads = [same, edited, other, unrelated];
    expect([...nearDuplicates(threads, { of: tested, similarity: 0.6 })]).toEqual([same, edited]);
    expect([...nearDuplicates(threads, { of: tested, similarity: 0.5 })]).toEqual([same, edited, other]);
    expect([...nearDuplicates(threads, { of: tested, similarity: 1 })]).toEqual([same]);
    expect(nearDuplicates(threads, { of: [], similarity: 0.1 }).size).toBe(0);
  });

  it('agrees with the Jaccard index of every pair', () => {
    const words = ['a', 'b', 'c', 'd', 'e', 'f'];
    const all = Array.from({ length: 64 }, (_, bits) => claim(words.filter((_, bit) => bits & (1 << bit)).join(' ')));
    const [left, right] = [all.slice(0, 40), all.slice(40)];
    for (const similarity of [0.3, 0.5, 2 / 3]) {
      const found = nearDuplicates(left, { of: right, similarity });
      for (const thread of left) {
        const nearest = Math.max(...right.map((other) => jaccardIndex(wordSet(thread.id), wordSet(other.id))));
        expect(found.has(thread), `${thread.id} at ${similarity}`).toBe(nearest >= similarity);
      }
    }
  });
});
