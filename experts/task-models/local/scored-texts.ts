import type { SparseRow } from './sparse-matrix.ts';
import { BoundedCache, type ReadText, type TextReader } from './text-reader.ts';

/** What one text adds to a prediction, under one classifier. */
export interface ScoredText {
  /** One a class. */
  readonly logits: Float64Array;
  /** Of each class, the words that speak most for it. */
  readonly words: readonly (readonly TellingWord[])[];
}

/** Where among the features the embedding and the cues of a text stand. */
interface TextRole {
  readonly rowStart: number;
  readonly cueStart: number;
}

/** Numbers and words held, of about 30 bytes each, for every classifier. */
const CACHED_SIZE = 2_000_000;

/**
 * Scores each text once for every classifier: a prediction on a claim and k posts is then a sum of k + 1 short vectors,
 * however long the texts are. A classifier is known by its weights, which never change, and takes its scores with it.
 */
export class ScoredTexts {
  private readonly reader: TextReader;
  private readonly role: TextRole;
  private readonly classCount: number;
  private readonly wordCount: number;
  private readonly caches = new WeakMap<Float64Array, BoundedCache<ScoredText>>();

  constructor(options: { reader: TextReader; role: TextRole; classCount: number; wordCount: number }) {
    this.reader = options.reader;
    this.role = options.role;
    this.classCount = options.classCount;
    this.wordCount = options.wordCount;
  }

  /** Aligned with `texts`. */
  async of(options: { texts: readonly string[]; weights: Float64Array }): Promise<ScoredText[]> {
    const { texts, weights } = options;
    const cache = this.cacheOf(weights);
    const known = new Map<string, ScoredText>();
    const unscored: string[] = [];
    for (const text of new Set(texts)) {
      const cached = cache.get(text);
      if (cached) known.set(text, cached);
      else unscored.push(text);
    }
    if (unscored.length > 0)
      for (const [index, read] of (await this.reader.read(unscored)).entries()) {
        const scored = this.score({ read, weights });
        known.set(unscored[index], scored);
        cache.set(unscored[index], scored);
      }
    return texts.map((text) => known.get(text)!);
  }

  private score(options: { read: ReadText; weights: Float64Array }): ScoredText {
    const { read, weights } = options;
    const { classCount, wordCount } = this;
    const { rowStart, cueStart } = this.role;
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

  private cacheOf(weights: Float64Array): BoundedCache<ScoredText> {
    let cache = this.caches.get(weights);
    if (!cache) {
      cache = new BoundedCache<ScoredText>({
        maximumSize: CACHED_SIZE,
        sizeOf: ({ logits, words }) => words.reduce((sum, list) => sum + list.length, logits.length + 4),
      });
      this.caches.set(weights, cache);
    }
    return cache;
  }
}

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

/** A local model's reason: the words that weighed most, heaviest first. The selector embeds it. */
export function explanationOf(options: { words: readonly TellingWord[]; wordCount: number }): string {
  const { wordCount } = options;
  const margins = new Map<string, number>();
  for (const { word, margin } of options.words) margins.set(word, (margins.get(word) ?? 0) + margin);
  const words = heaviest({ words: Array.from(margins, ([word, margin]) => ({ word, margin })), wordCount });
  return words.length === 0 ? 'no telling word' : words.map(({ word }) => word).join(', ');
}
