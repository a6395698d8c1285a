import { sublinear } from '../../../src/data/growing-prefix.ts';
import {
  growingTiming,
  standardisedTiming,
  type TimingScale,
  type TimingValues,
  timingColumns,
  timingScaleOf,
} from '../../../src/data/prefix-timing.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { type SparseMatrix, SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import {
  type NgramCounts,
  type NgramLengths,
  type NgramUnit,
  ngramCounter,
  ngramUnits,
} from '../../../src/text/ngram-counts.ts';
import { inverseDocumentFrequency } from '../../../src/text/tf-idf.ts';

/*
 * Features of a prefix, in parts of Euclidean length 1 (0 for one without content): TF-IDF of word and of character n-grams of
 * the claim, the same of all replies so far as one text, and with an encoder the claim's embedding and the sum of the replies'.
 * Claims and replies have n-grams and document frequencies of their own: a claim reports, a reply doubts or cheers. How fast the
 * replies come may be read beside, in standardised columns (timing-fit.ts).
 */

export const ngramLengths: Record<NgramUnit, NgramLengths> = {
  words: { min: 1, max: 2 },
  characters: { min: 3, max: 5 },
};

/** The replies' parts, beside 1 for the claim's. */
export const replyWeight = 2;
/** The claim's parts as long as there is no reply, so that first posts do not look like weak evidence. */
export const loneClaimWeight = 2;
/** n-grams kept of a part, those in most documents first: a limit to the size of a saved detector. */
const mostColumns = 32_768;

export interface Vocabulary {
  /** Hashes of n-grams, [n-grams]. */
  readonly keys: Int32Array;
  /** [n-grams] */
  readonly idf: Float32Array;
  readonly columnOf: ReadonlyMap<number, number>;
}

/** Columns of the features that belong together. */
export interface FeatureBlock {
  readonly part: 'claim' | 'replies';
  readonly kind: NgramUnit | 'embedding';
  readonly from: number;
  readonly columns: number;
  /** Of the n-grams; undefined for an embedding. */
  readonly vocabulary?: Vocabulary | undefined;
}

export interface TrainingRows {
  /** The last column is the constant 1. */
  readonly features: SparseMatrix;
  readonly blocks: readonly FeatureBlock[];
  /** Standardised times of the same rows, [rows, columns]; null without them. */
  readonly timing: { readonly values: SparseMatrix; readonly scale: TimingScale } | null;
  /** For each row, the index of its thread in `threads`. */
  readonly threadOfRow: Int32Array;
  /** For each row, the posts in its prefix. */
  readonly lengthOfRow: Int32Array;
}

/** Prefix lengths 1, 2, 4, … and the whole thread, or its first `maxPosts` posts: a long thread makes few rows more. */
function trainingLengths(options: { posts: number; maxPosts: number }): number[] {
  const last = Math.min(options.posts, options.maxPosts);
  const lengths: number[] = [];
  for (let length = 1; length < last; length *= 2) lengths.push(length);
  return [...lengths, last];
}

/** Reads every thread twice, for the n-grams that it has and for its rows, so that no more than the rows is held. */
export async function trainingRows(options: {
  threads: readonly Thread[];
  encoder: Encoder | null;
  maxPosts: number;
  timing?: boolean | undefined;
}): Promise<TrainingRows> {
  const { threads, encoder, maxPosts } = options;
  const count = ngramCounter(ngramLengths);
  const textsOf = ({ posts }: Thread) => posts.slice(0, maxPosts).map(({ text }) => text);
  const blocks = blocksOf({
    vocabularies: vocabulariesOf(threads.map(textsOf), count),
    dimensions: encoder?.dimensions ?? 0,
  });
  const timing = options.timing ? timingRows(threads, maxPosts) : null;
  const constant = blocks.reduce((sum, { columns }) => sum + columns, 0);
  const into = new SparseMatrixBuilder({ columns: constant + 1 });
  const threadOfRow: number[] = [];
  const lengthOfRow: number[] = [];
  for (const [index, thread] of threads.entries()) {
    const texts = textsOf(thread);
    const embeddings = await encoder?.encode(texts);
    const growing = blocks.map(growingValues);
    const lengths = trainingLengths({ posts: thread.posts.length, maxPosts });
    for (const [post, text] of texts.entries()) {
      const read = count(text);
      const part = post === 0 ? 'claim' : 'replies';
      const dimensions = encoder?.dimensions ?? 0;
      const vector = embeddings?.subarray(post * dimensions, (post + 1) * dimensions);
      for (const [place, block] of blocks.entries())
        if (block.part === part) growing[place].add(block.kind === 'embedding' ? vector : read[block.kind]);
      if (!lengths.includes(post + 1)) continue;
      for (const [place, { part: own, from }] of blocks.entries()) {
        const length = own === 'replies' ? replyWeight : post === 0 ? loneClaimWeight : 1;
        growing[place].addTo(into, { from, length });
      }
      into.add(constant, 1);
      into.endRow();
      threadOfRow.push(index);
      lengthOfRow.push(post + 1);
    }
  }
  return {
    features: into.build(),
    blocks,
    timing,
    threadOfRow: Int32Array.from(threadOfRow),
    lengthOfRow: Int32Array.from(lengthOfRow),
  };
}

/** The times of all rows, standardised over the rows, of which every thread's weigh the same. */
function timingRows(threads: readonly Thread[], maxPosts: number): { values: SparseMatrix; scale: TimingScale } {
  const known: TimingValues[] = [];
  const weights: number[] = [];
  for (const { posts } of threads) {
    const next = growingTiming();
    const lengths = trainingLengths({ posts: posts.length, maxPosts });
    for (const [index, post] of posts.slice(0, maxPosts).entries()) {
      const values = next(post);
      if (!lengths.includes(index + 1)) continue;
      known.push(values);
      weights.push(1 / lengths.length);
    }
  }
  const scale = timingScaleOf(known, weights);
  const into = new SparseMatrixBuilder({ columns: timingColumns });
  for (const values of known) {
    for (const [column, value] of standardisedTiming(values, scale).entries()) into.add(column, value);
    into.endRow();
  }
  return { values: into.build(), scale };
}

type Vocabularies = Record<'claim' | 'replies', Record<NgramUnit, Vocabulary>>;

/** The n-grams of claims, and those of the replies of a thread taken together. */
function vocabulariesOf(
  texts: readonly (readonly string[])[],
  count: (text: string) => Record<NgramUnit, NgramCounts>,
): Vocabularies {
  const frequencies = { claim: unitCounts(), replies: unitCounts() };
  const documents = { claim: texts.length, replies: texts.filter(({ length }) => length > 1).length };
  for (const [claim, ...replies] of texts) {
    const read = count(claim);
    const seen = { words: new Set<number>(), characters: new Set<number>() };
    for (const reply of replies) {
      const own = count(reply);
      for (const unit of ngramUnits) for (const key of own[unit].keys) seen[unit].add(key);
    }
    for (const unit of ngramUnits) {
      countAll(read[unit].keys, frequencies.claim[unit]);
      countAll(seen[unit], frequencies.replies[unit]);
    }
  }
  const kept = (part: 'claim' | 'replies', unit: NgramUnit): Vocabulary => {
    // A sort that keeps the order of equals: the same threads give the same columns.
    const entries = [...frequencies[part][unit]].sort((left, right) => right[1] - left[1]).slice(0, mostColumns);
    return {
      keys: Int32Array.from(entries, ([key]) => key),
      idf: Float32Array.from(entries, ([, own]) => inverseDocumentFrequency(documents[part], own)),
      columnOf: new Map(entries.map(([key], column) => [key, column])),
    };
  };
  const units = (part: 'claim' | 'replies') => ({ words: kept(part, 'words'), characters: kept(part, 'characters') });
  return { claim: units('claim'), replies: units('replies') };
}

function unitCounts(): Record<NgramUnit, Map<number, number>> {
  return { words: new Map(), characters: new Map() };
}

function countAll(keys: Iterable<number>, into: Map<number, number>): void {
  for (const key of keys) into.set(key, (into.get(key) ?? 0) + 1);
}

function blocksOf({ vocabularies, dimensions }: { vocabularies: Vocabularies; dimensions: number }): FeatureBlock[] {
  const blocks: FeatureBlock[] = [];
  let from = 0;
  const add = (block: Omit<FeatureBlock, 'from'>) => {
    blocks.push({ ...block, from });
    from += block.columns;
  };
  for (const part of ['claim', 'replies'] as const) {
    for (const kind of ngramUnits) {
      const vocabulary = vocabularies[part][kind];
      add({ part, kind, columns: vocabulary.keys.length, vocabulary });
    }
    if (dimensions > 0) add({ part, kind: 'embedding', columns: dimensions });
  }
  return blocks;
}

/** A part of the features of a prefix that grows. */
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
    /** Adds its values to a row, scaled to Euclidean length `length`. */
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
