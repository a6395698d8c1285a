import { HashedCounts, type NgramCounts } from './hashed-counts.ts';
import { TextScanner } from './text-scanner.ts';

/** n-grams with `min` ≤ n ≤ `max`. */
export interface NgramLengths {
  readonly min: number;
  readonly max: number;
}

export const ngramUnits = ['words', 'characters'] as const;
export type NgramUnit = (typeof ngramUnits)[number];

/** Raised with every change to this file, the scanner or the normalisation that changes a count. */
export const ngramVersion = 1;

const seed = 0x6e677261;

/**
 * Returns a function that reads a text and returns one that counts its n-grams of a unit. Character n-grams stay within
 * a word, which has a space at both ends; in scripts without spaces each character is a word, and character n-grams
 * stay within a clause. Word n-grams cross punctuation, because a post is too short to lose the pairs around a comma.
 */
export function ngramReader(options: {
  maskHandlesAndUrls: boolean;
}): (text: string) => (unit: NgramUnit, of: NgramLengths & { seed: number }) => NgramCounts {
  const scanner = new TextScanner(options);
  const hashed = new HashedCounts();
  return (text) => {
    scanner.scan(text);
    return (unit, { min, max, seed }) => {
      const range = { seed, min, max };
      if (unit === 'words') hashed.addNgrams({ items: scanner.words, from: 0, to: scanner.wordCount, ...range });
      for (let run = 0; unit === 'characters' && run < scanner.runCount; run++) {
        const [from, to] = [scanner.runStarts[run], scanner.runEnds[run]];
        hashed.addNgrams({ items: scanner.characters, from, to, ...range });
      }
      return hashed.drain();
    };
  };
}

/**
 * Counts the n-grams of a text, without dependencies so that it runs in a browser. Handles and links are masked and
 * letters are in lower case.
 */
export function ngramCounter(
  lengths: Readonly<Record<NgramUnit, NgramLengths>>,
): (text: string) => Record<NgramUnit, NgramCounts> {
  const read = ngramReader({ maskHandlesAndUrls: true });
  return (text) => {
    const count = read(text);
    return {
      words: count('words', { ...lengths.words, seed }),
      characters: count('characters', { ...lengths.characters, seed }),
    };
  };
}
