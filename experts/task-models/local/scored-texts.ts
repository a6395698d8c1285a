import type { SparseRow } from '../../../src/regression/sparse-matrix.ts';
import { BoundedCache, type ReadText, type TextReader } from './text-reader.ts';

/** What a text contributes to a prediction, under one classifier. */
export interface ScoredText {
  /** One for each class. */
  readonly logits: Float64Array;
  /** For each class, the words that speak most for it. */
  readonly words: readonly (readonly TellingWord[])[];
}

/** The positions of a text's embedding and cues among the features. */
interface TextRole {
  readonly rowStart: number;
  readonly cueStart: number;
}

/** Numbers and words cached for each classifier, of about 30 bytes each. */
const CACHED_SIZE = 2_000_000;

/**
 * Scores each text once for each classifier, so that a prediction for a claim and k posts is a sum of k + 1 short
 * vectors, however long the texts are. A classifier is identified by its weights array, which never changes, and its
 * scores are dropped with it.
 */
export function scoredTexts(options: { reader: TextReader; role: TextRole; classCount: number; wordCount: number }) {
  const { reader, classCount, wordCount } = options;
  const { rowStart, cueStart } = options.role;
  const caches = new WeakMap<Float64Array, BoundedCache<ScoredText>>();

  /** One for each text, in order. */
  async function scored({
    texts,
    weights,
  }: {
    texts: readonly string[];
    weights: Float64Array;
  }): Promise<ScoredText[]> {
    const known = await cacheOf(weights).all(texts, async (unscored) =>
      (await reader.read(unscored)).map((read) => score({ read, weights })),
    );
    return texts.map((text) => known.get(text)!);
  }

  function score({ read, weights }: { read: ReadText; weights: Float64Array }): ScoredText {
    const rowLogits = (row: SparseRow) => {
      const logits = new Float64Array(classCount);
      const { indices, values } = row;
      for (let entry = 0; entry < indices.length; entry++) {
        const first = (rowStart + indices[entry]) * classCount;
        for (let label = 0; label < classCount; label++) logits[label] += values[entry] * weights[first + label];
      }
      return logits;
    };
    const cueWeights = (cue: number) =>
      weights.subarray((cueStart + cue) * classCount, (cueStart + cue + 1) * classCount);
    const logits = rowLogits(read.row);
    const cues = read.cues.values;
    for (let cue = 0; cue < cues.length; cue++) {
      const first = (cueStart + cue) * classCount;
      for (let label = 0; label < classCount; label++) logits[label] += cues[cue] * weights[first + label];
    }
    const words = wordCount === 0 ? [] : tellingWords({ read, rowLogits, cueWeights, classCount, wordCount });
    return { logits, words };
  }

  function cacheOf(weights: Float64Array): BoundedCache<ScoredText> {
    let cache = caches.get(weights);
    if (!cache) {
      cache = new BoundedCache<ScoredText>({
        maximumSize: CACHED_SIZE,
        sizeOf: ({ logits, words }) => words.reduce((sum, list) => sum + list.length, logits.length + 4),
      });
      caches.set(weights, cache);
    }
    return cache;
  }

  return scored;
}

export type ScoredTexts = ReturnType<typeof scoredTexts>;

export interface TellingWord {
  readonly word: string;
  /** What it adds to the logit of the class, minus the mean of what it adds to the others. */
  readonly margin: number;
}

/** Below this margin, chance collisions of hashed n-grams would be given as reasons. */
const LEAST_MARGIN = 0.02;

/**
 * For each class, the words and cues of a text that speak most for it. A word's weight is that of its own embedding,
 * scaled to its share in a text of this many words. This is exact where the text is a sum of words of equal length,
 * and close enough elsewhere.
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

/** The words with the largest margins; equal ones in the order of their appearance. */
function heaviest(options: { words: readonly TellingWord[]; wordCount: number }): TellingWord[] {
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

/** A local model's explanation: the words with the largest weights, largest first. The selector embeds it. */
export function explanationOf(options: { words: readonly TellingWord[]; wordCount: number }): string {
  const { wordCount } = options;
  const margins = new Map<string, number>();
  for (const { word, margin } of options.words) margins.set(word, (margins.get(word) ?? 0) + margin);
  const words = heaviest({ words: Array.from(margins, ([word, margin]) => ({ word, margin })), wordCount });
  return words.length === 0 ? 'no telling word' : words.map(({ word }) => word).join(', ');
}
