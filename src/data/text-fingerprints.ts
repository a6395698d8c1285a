import { finishHash, mixIntoHash, scrambleWord } from '../text/murmur3.ts';

/*
 * Finds equal texts among many without keeping them: a million threads have more posts than fit into a set. A text
 * becomes 64 bits. Among 16 million texts, any two different ones share them with a probability of 7e-6.
 */

const chunkTexts = 2 ** 16;

/** Fingerprints of texts as they come. */
export function textFingerprints() {
  const chunks: Uint32Array[] = [];
  let count = 0;
  return {
    add(text: string): void {
      const place = count++ % chunkTexts;
      if (place === 0) chunks.push(new Uint32Array(2 * chunkTexts));
      chunks[chunks.length - 1].set(halves(text), 2 * place);
    },
    /** The fingerprints so far, each once, in ascending order. */
    distinct(): BigUint64Array {
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
    /** Texts so far, including repetitions. */
    get count() {
      return count;
    },
  };
}

export type TextFingerprints = ReturnType<typeof textFingerprints>;

/** The number of fingerprints in both lists, each in ascending order. */
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

/** Two hashes of the text's 16-bit units, two per word. */
function halves(text: string): [number, number] {
  let [first, second] = seeds as readonly number[];
  for (let index = 0; index < text.length; index += 2) {
    // A missing unit at the end reads as 0; the length distinguishes it from a 0 in the text.
    const word = scrambleWord(text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16));
    first = mixIntoHash(first, word);
    second = mixIntoHash(second, word);
  }
  return [finishHash(first, 2 * text.length), finishHash(second, 2 * text.length)];
}
