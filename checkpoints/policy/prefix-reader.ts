import * as z from 'zod/mini';
import { prefixGrower, type ReadPost } from '../../src/data/growing-prefix.ts';
import { type PrefixModel, prefixModelSchema, prefixProbabilities } from '../../src/data/prefix-model.ts';
import { type TextHasherOptions, textHasher } from '../../src/text/text-hasher.ts';

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
