import { finishHash, mixIntoHash, scrambleWord } from './murmur3.ts';
import { TextScanner } from './text-scanner.ts';

const logarithms = Float64Array.from({ length: 256 }, (_, count) => (count === 0 ? 0 : 1 + Math.log(count)));

/** 1 + ln count: the tenth "no" of a text means less than the first. */
export function sublinear(count: number): number {
  return count < logarithms.length ? logarithms[count] : 1 + Math.log(count);
}

/** Each n-gram of a text once, as a signed 32-bit hash, with its count. */
export interface NgramCounts {
  readonly keys: Int32Array;
  readonly counts: Int32Array;
}

/** Counts n-grams by their 32-bit hash, in one open-addressing table that is reused. */
export class HashedCounts {
  private keys = new Int32Array(4096);
  private counts = new Int32Array(4096);
  private usedSlots = new Int32Array(2048);
  private used = 0;

  /** Counts all n-grams of `items[from … to)` with `min` ≤ n ≤ `max`. */
  addNgrams(range: { items: Int32Array; from: number; to: number; seed: number; min: number; max: number }): void {
    const { items, from, to, seed, min, max } = range;
    for (let start = from; start < to; start++) {
      const last = Math.min(start + max, to);
      let hash = seed;
      for (let end = start; end < last; end++) {
        hash = mixIntoHash(hash, scrambleWord(items[end]));
        const length = end - start + 1;
        if (length >= min) this.add(finishHash(hash, 4 * length));
      }
    }
  }

  /** Returns the counted n-grams, in the order of their first occurrence, and forgets them. */
  drain(): NgramCounts {
    const { keys, counts, usedSlots, used } = this;
    const drained = { keys: new Int32Array(used), counts: new Int32Array(used) };
    for (let index = 0; index < used; index++) {
      const slot = usedSlots[index];
      drained.keys[index] = keys[slot];
      drained.counts[index] = counts[slot];
      counts[slot] = 0;
    }
    this.used = 0;
    return drained;
  }

  private add(hash: number): void {
    const mask = this.keys.length - 1;
    let slot = hash & mask;
    while (this.counts[slot] !== 0 && this.keys[slot] !== hash) slot = (slot + 1) & mask;
    if (this.counts[slot]++ > 0) return;
    this.keys[slot] = hash;
    this.usedSlots[this.used++] = slot;
    if (this.used === this.usedSlots.length) this.grow();
  }

  private grow(): void {
    const { keys, counts, usedSlots, used } = this;
    this.keys = new Int32Array(keys.length * 2);
    this.counts = new Int32Array(keys.length * 2);
    this.usedSlots = new Int32Array(usedSlots.length * 2);
    const mask = this.keys.length - 1;
    for (let index = 0; index < used; index++) {
      const old = usedSlots[index];
      let slot = keys[old] & mask;
      while (this.counts[slot] !== 0) slot = (slot + 1) & mask;
      this.keys[slot] = keys[old];
      this.counts[slot] = counts[old];
      this.usedSlots[index] = slot;
    }
  }
}

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

/** Raised with every change to this file or the scanner that changes a vector. */
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
