import type { SparseRow } from './sparse-matrix.ts';
import type { ReadText } from './text-reader.ts';

export interface TellingWord {
  readonly word: string;
  /** Logits it adds to the class, over the mean of what it adds to the others. */
  readonly margin: number;
}

/** Below it, chance collisions of hashed n-grams would be named as reasons. */
const LEAST_MARGIN = 0.02;

/**
 * Of each class, the words and cues of a text that speak most for it. A word counts as what the encoder makes of it
 * alone, scaled to its share in a text of so many words: exact where the text is a sum of words of equal length, near
 * enough elsewhere.
 */
export function tellingWords(options: {
  read: ReadText;
  rowLogits: (row: SparseRow) => Float64Array;
  cueWeights: (cue: number) => Float64Array;
  classCount: number;
  wordCount: number;
}): TellingWord[][] {
  const { read, rowLogits, cueWeights, classCount, wordCount } = options;
  const logitsOf = new Map<string, Float64Array>();
  const share = 1 / Math.sqrt(1 + read.words.length);
  const add = (word: string, logits: Float64Array) => {
    const sum = logitsOf.get(word) ?? new Float64Array(classCount);
    for (let label = 0; label < classCount; label++) sum[label] += share * logits[label];
    logitsOf.set(word, sum);
  };
  for (const { expression, cue } of read.cues.found) add(expression, cueWeights(cue));
  for (const { text, row } of read.words) add(text, rowLogits(row));
  return Array.from({ length: classCount }, (_, label) => {
    const words: TellingWord[] = [];
    for (const [word, logits] of logitsOf) words.push({ word, margin: margin(logits, label) });
    return heaviest({ words, wordCount });
  });
}

/** The heaviest words of several texts; those of equal weight in the order met. */
export function heaviest(options: { words: readonly TellingWord[]; wordCount: number }): TellingWord[] {
  return options.words
    .filter(({ margin }) => margin >= LEAST_MARGIN)
    .sort((left, right) => right.margin - left.margin)
    .slice(0, options.wordCount);
}

function margin(logits: Float64Array, label: number): number {
  let others = 0;
  for (let index = 0; index < logits.length; index++) if (index !== label) others += logits[index];
  return logits[label] - others / (logits.length - 1);
}
