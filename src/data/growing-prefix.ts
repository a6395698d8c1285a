import { floatsFromBase64, integersFromBase64 } from '../base64-floats.ts';
import { type NgramCounts, ngramCounter, ngramUnits, sublinear } from '../text/ngram-counts.ts';
import type { PrefixModel, SavedBlock } from './prefix-model.ts';
import { growingTiming, standardisedTiming, type Timed, timingColumns } from './prefix-model.ts';

/** The fields of a post that a model reads. */
export interface ReadPost extends Timed {
  readonly text: string;
}

/** Logits for a growing thread. Later posts change no earlier ones. */
export interface GrowingPrefix {
  readonly posts: number;
  /** @param embedding the post's embedding, if the model has an encoder */
  add(post: ReadPost, embedding?: Float32Array): void;
  /** The logits for the first `length` posts, [classes]; 0 for class 0. */
  logits(length: number): Float64Array;
  /** The contribution of each of the first `length` posts to the logits, row-major [length, classes]. */
  contributions(length: number): Float64Array;
}

/**
 * Makes a function that opens a thread. Each post costs the same, however many came before: a part of the features is a
 * vector of Euclidean length 1, and its product with the weights and its length are updated from post to post.
 * @param embedding weights of the dimensions of an embedding, [dimensions, classes − 1]
 */
export function prefixGrower(
  model: Omit<PrefixModel, 'encoder'>,
  embedding: { readonly claim: Float32Array; readonly replies: Float32Array } | null = null,
): () => GrowingPrefix {
  const { loneClaimWeight, intercepts } = model;
  const classCount = model.labels.length;
  const count = ngramCounter(model.ngrams);
  const [claimBlocks, replyBlocks] = [model.claim, model.replies].map((part) =>
    ngramUnits.map((unit) => openBlock(part[unit], classCount)),
  );
  const openTiming = timingGrower(model);

  return () => {
    const partsOf = (blocks: readonly NgramBlock[], weights: Float32Array | undefined) => [
      ...blocks.map((block) => growingCounts(block, classCount)),
      ...(weights === undefined ? [] : [growingSum(weights, classCount)]),
    ];
    const claim = partsOf(claimBlocks, embedding?.claim);
    const replies = partsOf(replyBlocks, embedding?.replies);
    const timing = openTiming();
    let posts = 0;
    return {
      get posts() {
        return posts;
      },
      add(post, vector) {
        const read = count(post.text);
        for (const [index, part] of (posts === 0 ? claim : replies).entries())
          part.add({ ngrams: read[ngramUnits[index]], vector });
        timing.add(post);
        posts++;
      },
      logits(length) {
        const logits = Float64Array.from(intercepts);
        const claimScale = length === 1 ? loneClaimWeight : 1;
        for (const part of claim) part.addProduct(logits, { additions: 1, scale: claimScale });
        for (const part of replies) part.addProduct(logits, { additions: length - 1, scale: 1 });
        timing.addProduct(logits, length);
        return logits;
      },
      contributions(length) {
        const all = new Float64Array(length * classCount);
        const claimScale = length === 1 ? loneClaimWeight : 1;
        for (const part of claim) part.addContributions(all, { additions: 1, scale: claimScale });
        for (const part of replies)
          part.addContributions(all.subarray(classCount), { additions: length - 1, scale: 1 });
        timing.addContributions(all, length);
        return all;
      },
    };
  };
}

/** The times' addition to the logits; nothing if the model has no times. */
function timingGrower({ timing, labels: { length: classCount } }: Omit<PrefixModel, 'encoder'>) {
  const weights = floatsFromBase64(timing?.weights ?? '');
  const widths = timing === undefined ? [] : [timing.means.length, timing.deviations.length];
  if (widths.some((width) => width !== timingColumns || weights.length !== width * (classCount - 1)))
    throw new RangeError(
      `the times have ${widths.join(' and ')} columns and ${weights.length} weights of ${classCount} classes`,
    );
  return () => {
    const next = growingTiming();
    /** Products after each post, [classes]. */
    const products: number[][] = [];
    return {
      add(post: Timed): void {
        if (timing === undefined) return;
        const values = standardisedTiming(next(post), timing);
        products.push(
          Array.from({ length: classCount }, (_, label) =>
            label === 0
              ? 0
              : values.reduce((sum, value, column) => sum + value * weights[column * (classCount - 1) + label - 1], 0),
          ),
        );
      },
      addProduct(logits: Float64Array, length: number): void {
        for (const [label, value] of products[length - 1]?.entries() ?? []) logits[label] += value;
      },
      /** A post's contribution is the change that it causes. */
      addContributions(rows: Float64Array, length: number): void {
        for (const [post, values] of products.slice(0, length).entries())
          for (const [label, value] of values.entries())
            rows[post * classCount + label] += value - (products[post - 1]?.[label] ?? 0);
      },
    };
  };
}

type NgramBlock = ReturnType<typeof openBlock>;

function openBlock(saved: SavedBlock, classCount: number) {
  const keys = integersFromBase64(saved.keys);
  const idf = floatsFromBase64(saved.idf);
  const weights = floatsFromBase64(saved.weights);
  if (idf.length !== keys.length || weights.length !== keys.length * (classCount - 1))
    throw new RangeError(
      `a block of ${keys.length} n-grams has ${idf.length} document frequencies and ${weights.length} weights of ${classCount} classes`,
    );
  return { columnOf: columnsByHash(keys), idf, weights };
}

/**
 * The column of an n-gram, by its hash; −1 for one that no training text had. An open-addressing
 * table at most a quarter full, because most look-ups of n-grams fail.
 */
function columnsByHash(hashes: Int32Array): (hash: number) => number {
  let slots = 16;
  while (slots < 4 * hashes.length) slots *= 2;
  const mask = slots - 1;
  const columns = new Int32Array(slots).fill(-1);
  const slotOf = (hash: number) => {
    let slot = hash & mask;
    while (columns[slot] >= 0 && hashes[columns[slot]] !== hash) slot = (slot + 1) & mask;
    return slot;
  };
  for (const [column, hash] of hashes.entries()) columns[slotOf(hash)] = column;
  return (hash) => columns[slotOf(hash)];
}

/** One part of the features, scaled to length 1. */
interface GrowingPart {
  add(post: { ngrams: NgramCounts | undefined; vector: Float32Array | undefined }): void;
  /** Adds the product with the weights after `additions` additions, times `scale`. */
  addProduct(logits: Float64Array, of: { additions: number; scale: number }): void;
  /** Adds the product with the weights by addition, row-major [additions, classes]. */
  addContributions(rows: Float64Array, of: { additions: number; scale: number }): void;
}

/** 1 + ln count of each n-gram so far, times its idf. */
function growingCounts({ columnOf, idf, weights }: NgramBlock, classCount: number): GrowingPart {
  const counts = new Map<number, number>();
  let squares = 0;
  return growingPart(classCount, ({ ngrams }, product) => {
    for (let index = 0; ngrams !== undefined && index < ngrams.keys.length; index++) {
      const column = columnOf(ngrams.keys[index]);
      if (column < 0) continue;
      const before = counts.get(column) ?? 0;
      const after = before + ngrams.counts[index];
      counts.set(column, after);
      const [old, now] = [sublinear(before) * idf[column], sublinear(after) * idf[column]];
      squares += now * now - old * old;
      for (let label = 1; label < classCount; label++)
        product[label] += (now - old) * weights[column * (classCount - 1) + label - 1];
    }
    return squares;
  });
}

/** The sum of the embeddings so far. */
function growingSum(weights: Float32Array, classCount: number): GrowingPart {
  const sum = new Float64Array(weights.length / (classCount - 1));
  return growingPart(classCount, ({ vector }, product) => {
    if (vector?.length !== sum.length)
      throw new RangeError(`an embedding has ${vector?.length ?? 'no'} numbers instead of ${sum.length}`);
    let squares = 0;
    for (let index = 0; index < sum.length; index++) {
      sum[index] += vector[index];
      squares += sum[index] ** 2;
      for (let label = 1; label < classCount; label++)
        product[label] += vector[index] * weights[index * (classCount - 1) + label - 1];
    }
    return squares;
  });
}

/** @param read adds a post's change to the product with the weights, and returns the squared length */
function growingPart(
  classCount: number,
  read: (post: Parameters<GrowingPart['add']>[0], product: Float64Array) => number,
): GrowingPart {
  const changes: Float64Array[] = [];
  const products: Float64Array[] = [];
  const lengths: number[] = [];
  const inverse = (addition: number) => (lengths[addition] > 0 ? 1 / lengths[addition] : 0);
  return {
    add(post) {
      const change = new Float64Array(classCount);
      lengths.push(Math.sqrt(read(post, change)));
      changes.push(change);
      const before = products[products.length - 1];
      products.push(change.map((value, label) => value + (before?.[label] ?? 0)));
    },
    addProduct(logits, { additions, scale }) {
      if (additions === 0) return;
      const factor = scale * inverse(additions - 1);
      for (let label = 1; label < classCount; label++) logits[label] += factor * products[additions - 1][label];
    },
    addContributions(rows, { additions, scale }) {
      if (additions === 0) return;
      const factor = scale * inverse(additions - 1);
      for (let addition = 0; addition < additions; addition++)
        for (let label = 1; label < classCount; label++)
          rows[addition * classCount + label] += factor * changes[addition][label];
    },
  };
}
