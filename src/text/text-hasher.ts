import { type NgramCounts, type NgramLengths, ngramReader, sublinear } from './ngram-counts.ts';

/** The n-grams of a text that are hashed. The schema of the encoder (hashing-encoder.ts) has defaults and limits. */
export interface TextHasherOptions {
  readonly dimensions: number;
  readonly wordNgrams: NgramRange;
  readonly characterNgrams: NgramRange;
  readonly maskHandlesAndUrls: boolean;
}

/** Weight 0 leaves the n-grams out. */
interface NgramRange extends NgramLengths {
  readonly weight: number;
}

/** Raised with every change to this file, the scanner or the normalisation that changes a vector. */
export const hashingVersion = 1;

const WORD_SEED = 0x776f7264;
const CHARACTER_SEED = 0x63686172;

/**
 * The arithmetic of the hashing encoder, without dependencies so that it runs in a browser (see
 * `createHashingEncoder`).
 * @returns a function that adds the vector of a text to `row`, [dimensions], which must be all zeros
 */
export function textHasher(options: TextHasherOptions): (text: string, row: Float32Array) => void {
  const { wordNgrams, characterNgrams } = options;
  const read = ngramReader(options);
  return (text, row) => {
    const count = read(text);
    if (wordNgrams.weight > 0) addHashed(row, count('words', { ...wordNgrams, seed: WORD_SEED }), wordNgrams.weight);
    if (characterNgrams.weight > 0)
      addHashed(row, count('characters', { ...characterNgrams, seed: CHARACTER_SEED }), characterNgrams.weight);
    scaleToUnitLength(row);
  };
}

/** Adds ±weight × (1 + ln count) for every n-gram to its element of `row`. */
function addHashed(row: Float32Array, { keys, counts }: NgramCounts, weight: number): void {
  for (let index = 0; index < keys.length; index++) {
    const value = weight * sublinear(counts[index]);
    // One bit of the hash is the sign, so that colliding n-grams cancel on average; the others choose the element.
    const hash = keys[index];
    row[(hash >>> 1) % row.length] += (hash & 1) === 0 ? value : -value;
  }
}

function scaleToUnitLength(row: Float32Array): void {
  let squares = 0;
  for (let index = 0; index < row.length; index++) squares += row[index] * row[index];
  if (squares === 0) return;
  const scale = 1 / Math.sqrt(squares);
  for (let index = 0; index < row.length; index++) row[index] *= scale;
}
