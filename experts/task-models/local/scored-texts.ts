import { BoundedCache } from './bounded-cache.ts';
import type { SparseRow } from './sparse-matrix.ts';
import { type TellingWord, tellingWords } from './telling-words.ts';
import type { ReadText, TextReader } from './text-reader.ts';

/** What one text adds to a prediction, under one classifier. */
export interface ScoredText {
  /** One a class. */
  readonly logits: Float64Array;
  /** Of each class, the words that speak most for it. */
  readonly words: readonly (readonly TellingWord[])[];
}

/** Where among the features the embedding and the cues of a text stand. */
export interface TextRole {
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
