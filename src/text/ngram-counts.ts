import { HashedCounts } from './hashed-counts.ts';
import { TextScanner } from './text-scanner.ts';

/** n-grams with `min` ≤ n ≤ `max`. */
export interface NgramLengths {
  readonly min: number;
  readonly max: number;
}

export const ngramUnits = ['words', 'characters'] as const;
export type NgramUnit = (typeof ngramUnits)[number];

/** Each n-gram of a text once, as a signed 32-bit hash, and how often it occurs. */
export interface NgramCounts {
  readonly keys: Int32Array;
  readonly counts: Int32Array;
}

/** Raise this with every change to this file, the scanner or the normalisation that changes a count. */
export const ngramVersion = 1;

const seed = 0x6e677261;

/**
 * A function that counts the n-grams of a text, free of every dependency so that it runs in a browser. Handles and links are
 * masked and letters are small. Character n-grams stay within a word, which has a space at both ends; in scripts written
 * without spaces each character is a word, and character n-grams stay within a clause.
 */
export function ngramCounter(
  lengths: Readonly<Record<NgramUnit, NgramLengths>>,
): (text: string) => Record<NgramUnit, NgramCounts> {
  const scanner = new TextScanner({ maskHandlesAndUrls: true });
  const hashed = new HashedCounts();
  return (text) => {
    scanner.scan(text);
    hashed.addNgrams({ items: scanner.words, from: 0, to: scanner.wordCount, seed, ...lengths.words });
    const words = hashed.drain();
    for (let run = 0; run < scanner.runCount; run++)
      hashed.addNgrams({
        items: scanner.characters,
        from: scanner.runStarts[run],
        to: scanner.runEnds[run],
        seed,
        ...lengths.characters,
      });
    return { words, characters: hashed.drain() };
  };
}
