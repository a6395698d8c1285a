import { expect, it } from 'vitest';
import { countShared, textFingerprints } from '../../../src/data/text-fingerprints.ts';

function fingerprintsOf(texts: Iterable<string>) {
  const fingerprints = textFingerprints();
  for (const text of texts) fingerprints.add(text);
  return fingerprints;
}

it('tells texts apart as a set does, over many chunks', () => {
  // Short ones of few letters: prefixes, transpositions and ends of both parities of each other.
  const texts: string[] = [];
  for (let number = 0; number < 200_000; number++) texts.push(`t${number % 150_000}`.repeat(1 + (number % 3)));
  texts.push('', 'a', 'a\0', 'ab', 'ba', '谣', '谣言', '😀');
  const fingerprints = fingerprintsOf(texts);
  expect(fingerprints.count).toBe(texts.length);
  const distinct = fingerprints.distinct();
  expect(distinct).toHaveLength(new Set(texts).size);
  expect(distinct.every((value, index) => index === 0 || value > distinct[index - 1])).toBe(true);
});

it('counts what two sets share, once each', () => {
  const one = fingerprintsOf(['a', 'b', 'b', 'c']).distinct();
  const other = fingerprintsOf(['c', 'b', 'd', 'e', 'b']).distinct();
  expect(countShared(one, other)).toBe(2);
  expect(countShared(one, fingerprintsOf([]).distinct())).toBe(0);
});
