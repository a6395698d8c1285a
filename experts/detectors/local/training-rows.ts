import {
  growingTiming,
  standardisedTiming,
  type TimingScale,
  type TimingValues,
  timingColumns,
  timingScaleOf,
} from '../../../src/data/prefix-model.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { type SparseMatrix, SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import {
  type NgramCounts,
  type NgramLengths,
  type NgramUnit,
  ngramCounter,
  ngramUnits,
  sublinear,
} from '../../../src/text/ngram-counts.ts';
import { inverseDocumentFrequency } from '../../../src/text/tf-idf.ts';

/*
 * Features of a prefix, in parts of Euclidean length 1 (0 without content): TF-IDF of word and of character n-grams,
 * once for the claim and once for all replies so far as one text, and with an encoder the claim's embedding and the sum
 * of the replies'. Claims and replies have separate n-grams and document frequencies: a claim reports, a reply doubts
 * or cheers. The times of the replies may be added in standardised columns (`fitTiming`).
 */

export const ngramLengths: Record<NgramUnit, NgramLengths> = {
  words: { min: 1, max: 2 },
  characters: { min: 3, max: 5 },
};

/** The weight of the replies' parts; the claim's is 1. */
export const replyWeight = 2;
/** The weight of a claim without replies, so that first posts do not look like weak evidence. */
export const loneClaimWeight = 2;
/** n-grams per part, the most frequent ones. This limits the size of a saved detector. */
const mostColumns = 32_768;

/** A block of feature columns. */
export interface FeatureBlock {
  readonly part: 'claim' | 'replies';
  readonly kind: NgramUnit | 'embedding';
  readonly from: number;
  readonly columns: number;
  /** The n-grams of the block; undefined for an embedding. */
  readonly vocabulary?: {
    /** Hashes of the n-grams, [n-grams]. */
    readonly keys: Int32Array;
    /** Inverse document frequencies, [n-grams]. */
    readonly idf: Float32Array;
    readonly columnOf: ReadonlyMap<number, number>;
  };
}

export interface TrainingRows {
  /** The features of the rows. The last column is the constant 1. */
  readonly features: SparseMatrix;
  readonly blocks: readonly FeatureBlock[];
  /** Standardised times of the rows, [rows, columns]; null without times. */
  readonly timing: { readonly values: SparseMatrix; readonly scale: TimingScale } | null;
  /** The index of each row's thread in `threads`. */
  readonly threadOfRow: Int32Array;
  /** The number of posts in each row's prefix. */
  readonly lengthOfRow: Int32Array;
}

/** Prefix lengths 1, 2, 4, … and the whole thread, or its first `maxPosts` posts, so that long threads add few rows. */
function trainingLengths(options: { posts: number; maxPosts: number }): number[] {
  const last = Math.min(options.posts, options.maxPosts);
  const lengths: number[] = [];
  for (let length = 1; length < last; length *= 2) lengths.push(length);
  return [...lengths, last];
}

/** Reads every thread twice, first for its n-grams and then for its rows, so that only the rows are in memory. */
export async function trainingRows(options: {
  threads: readonly Thread[];
  encoder: Encoder | null;
  maxPosts: number;
  timing?: boolean;
}): Promise<TrainingRows> {
  const { threads, encoder, maxPosts } = options;
  const count = ngramCounter(ngramLengths);
  const textsOf = ({ posts }: Thread) => posts.slice(0, maxPosts).map(({ text }) => text);
  const dimensions = encoder?.dimensions ?? 0;
  const blocks = featureBlocks(threads.map(textsOf), { count, dimensions });
  const constant = blocks.reduce((sum, { columns }) => sum + columns, 0);
  const into = new SparseMatrixBuilder({ columns: constant + 1 });
  const rows: { thread: number; length: number; times: TimingValues; weight: number }[] = [];
  for (const [index, thread] of threads.entries()) {
    const texts = textsOf(thread);
    const embeddings = await encoder?.encode(texts);
    const growing = blocks.map(growingValues);
    const timesAfter = growingTiming();
    const lengths = trainingLengths({ posts: thread.posts.length, maxPosts });
    for (const [post, text] of texts.entries()) {
      const read = count(text);
      const times = timesAfter(thread.posts[post]);
      const vector = embeddings?.subarray(post * dimensions, (post + 1) * dimensions);
      for (const [place, { part, kind }] of blocks.entries())
        if ((part === 'claim') === (post === 0)) growing[place].add(kind === 'embedding' ? vector : read[kind]);
      if (!lengths.includes(post + 1)) continue;
      for (const [place, { part, from }] of blocks.entries()) {
        const length = part === 'replies' ? replyWeight : post === 0 ? loneClaimWeight : 1;
        growing[place].addTo(into, { from, length });
      }
      into.add(constant, 1);
      into.endRow();
      rows.push({ thread: index, length: post + 1, times, weight: 1 / lengths.length });
    }
  }
  return {
    features: into.build(),
    blocks,
    timing: options.timing ? standardiseRows(rows) : null,
    threadOfRow: Int32Array.from(rows, ({ thread }) => thread),
    lengthOfRow: Int32Array.from(rows, ({ length }) => length),
  };
}

/** Standardises the times of all rows. The rows of each thread have the same total weight. */
function standardiseRows(rows: readonly { times: TimingValues; weight: number }[]): TrainingRows['timing'] {
  const scale = timingScaleOf(
    rows.map(({ times }) => times),
    rows.map(({ weight }) => weight),
  );
  const into = new SparseMatrixBuilder({ columns: timingColumns });
  for (const { times } of rows) {
    for (const [column, value] of standardisedTiming(times, scale).entries()) into.add(column, value);
    into.endRow();
  }
  return { values: into.build(), scale };
}

/** N-grams of claims and of replies by document frequency (a thread's replies are one document), and embeddings. */
function featureBlocks(
  threads: readonly (readonly string[])[],
  { count, dimensions }: { count: ReturnType<typeof ngramCounter>; dimensions: number },
): FeatureBlock[] {
  const frequencies = { claim: unitCounts(), replies: unitCounts() };
  for (const [claim, ...replies] of threads)
    for (const part of ['claim', 'replies'] as const) {
      const read = (part === 'claim' ? [claim] : replies).map(count);
      for (const unit of ngramUnits)
        for (const key of new Set(read.flatMap((text) => [...text[unit].keys])))
          frequencies[part][unit].set(key, (frequencies[part][unit].get(key) ?? 0) + 1);
    }
  const documents = { claim: threads.length, replies: threads.filter(({ length }) => length > 1).length };
  let from = 0;
  const placed = (block: Omit<FeatureBlock, 'from'>): FeatureBlock => {
    from += block.columns;
    return { ...block, from: from - block.columns };
  };
  return (['claim', 'replies'] as const).flatMap((part) => [
    ...ngramUnits.map((kind) => {
      // A stable sort: the same threads give the same columns.
      const frequent = [...frequencies[part][kind]].sort((left, right) => right[1] - left[1]).slice(0, mostColumns);
      const vocabulary = {
        keys: Int32Array.from(frequent, ([key]) => key),
        idf: Float32Array.from(frequent, ([, frequency]) => inverseDocumentFrequency(documents[part], frequency)),
        columnOf: new Map(frequent.map(([key], column) => [key, column])),
      };
      return placed({ part, kind, columns: frequent.length, vocabulary });
    }),
    ...(dimensions > 0 ? [placed({ part, kind: 'embedding', columns: dimensions })] : []),
  ]);
}

function unitCounts(): Record<NgramUnit, Map<number, number>> {
  return { words: new Map(), characters: new Map() };
}

/** The values of a feature block for a growing prefix. */
function growingValues({ vocabulary, columns }: FeatureBlock) {
  const counts = new Map<number, number>();
  const sum = new Float64Array(vocabulary === undefined ? columns : 0);
  return {
    add(post: NgramCounts | Float32Array | undefined): void {
      if (post instanceof Float32Array) for (const [index, value] of post.entries()) sum[index] += value;
      else if (post !== undefined)
        for (const [index, key] of post.keys.entries()) {
          const column = vocabulary?.columnOf.get(key);
          if (column !== undefined) counts.set(column, (counts.get(column) ?? 0) + post.counts[index]);
        }
    },
    /** Adds the values to a row, scaled to Euclidean length `length`. */
    addTo(into: SparseMatrixBuilder, { from, length }: { from: number; length: number }): void {
      const entries: [number, number][] =
        vocabulary === undefined
          ? [...sum.entries()]
          : Array.from(counts, ([column, count]) => [column, sublinear(count) * vocabulary.idf[column]]);
      const squares = entries.reduce((total, [, value]) => total + value * value, 0);
      if (squares === 0) return;
      const scale = length / Math.sqrt(squares);
      for (const [column, value] of entries) into.add(from + column, scale * value);
    },
  };
}
