import * as z from 'zod/mini';
import { prefixGrower, type ReadPost } from '../../src/data/growing-prefix.ts';
import { type PrefixModel, prefixModelSchema, prefixProbabilities } from '../../src/data/prefix-model.ts';
import { type TextHasherOptions, textHasher } from '../../src/text/ngram-counts.ts';

const ngrams = z.object({ min: z.int(), max: z.int(), weight: z.number() });

/** The built-in hashing encoder. Any program that has these options can run it. */
export const hashingIdentitySchema = z.object({
  name: z.literal('hashing'),
  version: z.literal(1),
  dimensions: z.int(),
  wordNgrams: ngrams,
  characterNgrams: ngrams,
  maskHandlesAndUrls: z.boolean(),
});

/*
 * The local classifier of prefixes, as a detector or a student. It shares its arithmetic with experts/detectors/local/.
 */

/** The part of a saved local detector that reading needs. Bundles contain no encoder. */
export const bundledModelSchema = z.extend(prefixModelSchema, { encoder: z.null() });

/** Reads the next post of a growing thread and returns the probability of each label. */
export type ReadNext = (post: ReadPost) => readonly number[];

export interface PrefixReader {
  readonly labels: readonly string[];
  /** Opens a thread. Every post costs the same, however many came before. */
  open(): ReadNext;
}

export function prefixReader(model: PrefixModel): PrefixReader {
  const open = prefixGrower(model);
  return {
    labels: model.labels,
    open() {
      const thread = open();
      return (post) => {
        thread.add(post);
        return prefixProbabilities({ logits: thread.logits(thread.posts), posts: thread.posts }, model);
      };
    },
  };
}

export function embedder(options: TextHasherOptions): (text: string) => Float32Array {
  const hashInto = textHasher(options);
  return (text) => {
    const row = new Float32Array(options.dimensions);
    hashInto(text, row);
    return row;
  };
}

/** The built-in encoder as a function of texts, row-major [texts, dimensions]; null for another encoder. */
export function hashingEncoder(identity: unknown): ((texts: readonly string[]) => Promise<Float32Array>) | null {
  const hashing = z.safeParse(hashingIdentitySchema, identity);
  if (!hashing.success) return null;
  const embedOne = embedder(hashing.data);
  const { dimensions } = hashing.data;
  return async (texts) => {
    const rows = new Float32Array(texts.length * dimensions);
    for (const [index, text] of texts.entries()) rows.set(embedOne(text), index * dimensions);
    return rows;
  };
}
