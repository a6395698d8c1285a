import { finishHash, mixIntoHash, scrambleWord } from '../text/murmur3.ts';

/*
 * Which texts of many are the same, without keeping them: a million threads have more posts than fit into a set. A text is known
 * by 64 bits. Among 16 million texts, any two that differ share them with a probability of 7e-6.
 */

/** Texts as they come. */
export interface TextFingerprints {
  add(text: string): void;
  /** Those of the texts so far, each once, in ascending order. */
  distinct(): BigUint64Array;
  /** Texts so far, repetitions counted. */
  readonly count: number;
}

const chunkTexts = 2 ** 16;

export function textFingerprints(): TextFingerprints {
  const chunks: Uint32Array[] = [];
  let count = 0;
  return {
    add(text) {
      const place = count++ % chunkTexts;
      if (place === 0) chunks.push(new Uint32Array(2 * chunkTexts));
      chunks[chunks.length - 1].set(halves(text), 2 * place);
    },
    distinct() {
      const all = new Uint32Array(2 * count);
      for (const [index, chunk] of chunks.entries()) {
        const start = index * chunk.length;
        all.set(chunk.subarray(0, all.length - start), start);
      }
      const sorted = new BigUint64Array(all.buffer).sort();
      let distinct = 0;
      for (let index = 0; index < count; index++)
        if (index === 0 || sorted[index] !== sorted[index - 1]) sorted[distinct++] = sorted[index];
      return sorted.subarray(0, distinct);
    },
    get count() {
      return count;
    },
  };
}

/** How many numbers are in both; each in ascending order. */
export function countShared(a: BigUint64Array, b: BigUint64Array): number {
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) shared++;
    if (a[i] <= b[j]) i++;
    else j++;
  }
  return shared;
}

const seeds = [0, 0x9e3779b9] as const;

/** Two hashes of the text's 16-bit units, two a word. */
function halves(text: string): [number, number] {
  let [first, second] = seeds as readonly number[];
  for (let index = 0; index < text.length; index += 2) {
    // A unit that is missing at the end reads as 0, and the length tells it from a 0 that is there.
    const word = scrambleWord(text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16));
    first = mixIntoHash(first, word);
    second = mixIntoHash(second, word);
  }
  return [finishHash(first, 2 * text.length), finishHash(second, 2 * text.length)];
}
