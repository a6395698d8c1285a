import { HashedCounts } from './hashed-counts.ts';
import { TextScanner } from './text-scanner.ts';

/** Which n-grams of a text are hashed. The schema of the encoder (hashing-encoder.ts) holds defaults and limits. */
export interface TextHasherOptions {
  readonly dimensions: number;
  readonly wordNgrams: NgramRange;
  readonly characterNgrams: NgramRange;
  readonly maskHandlesAndUrls: boolean;
}

/** n-grams with `min` ≤ n ≤ `max`; weight 0 leaves them out. */
export interface NgramRange {
  readonly min: number;
  readonly max: number;
  readonly weight: number;
}

/** Raise this with every change to this file, the scanner or the normalisation that changes a vector. */
export const hashingVersion = 1;

const WORD_SEED = 0x776f7264;
const CHARACTER_SEED = 0x63686172;

/**
 * The arithmetic of the hashing encoder, free of every dependency so that it runs in a browser: signed feature hashing
 * (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009) of word and character n-grams, each
 * counted sublinearly (1 + ln count), the sum scaled to length 1.
 * @returns a function that adds the vector of a text to `row`, [dimensions], which must be all zeros
 */
export function textHasher(options: TextHasherOptions): (text: string, row: Float32Array) => void {
  const { wordNgrams, characterNgrams } = options;
  const scanner = new TextScanner({ maskHandlesAndUrls: options.maskHandlesAndUrls });
  const counts = new HashedCounts();

  return (text, row) => {
    scanner.scan(text);
    if (wordNgrams.weight > 0) {
      // Word n-grams cross punctuation, because a post is too short to lose the pairs around a comma.
      counts.addNgrams({ items: scanner.words, from: 0, to: scanner.wordCount, seed: WORD_SEED, ...wordNgrams });
      counts.drainInto({ row, weight: wordNgrams.weight });
    }
    if (characterNgrams.weight > 0) {
      for (let run = 0; run < scanner.runCount; run++)
        counts.addNgrams({
          items: scanner.characters,
          from: scanner.runStarts[run],
          to: scanner.runEnds[run],
          seed: CHARACTER_SEED,
          min: characterNgrams.min,
          max: characterNgrams.max,
        });
      counts.drainInto({ row, weight: characterNgrams.weight });
    }
    scaleToUnitLength(row);
  };
}

function scaleToUnitLength(row: Float32Array): void {
  let squares = 0;
  for (let index = 0; index < row.length; index++) squares += row[index] * row[index];
  if (squares === 0) return;
  const scale = 1 / Math.sqrt(squares);
  for (let index = 0; index < row.length; index++) row[index] *= scale;
}
