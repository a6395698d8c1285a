import * as z from 'zod/mini';
import { prefixGrower, type ReadPost } from '../../src/data/growing-prefix.ts';
import { type PrefixModel, prefixModelSchema, prefixProbabilities } from '../../src/data/prefix-model.ts';
import { type TextHasherOptions, textHasher } from '../../src/text/text-hasher.ts';

/*
 * The local classifier of prefixes, and what a student of that kind adds to the state: the arithmetic of
 * experts/detectors/local/, which it shares.
 */

/** As much of a saved local detector as reading needs. An encoder is not part of a bundle. */
export const bundledModelSchema = z.extend(prefixModelSchema, { encoder: z.null() });

/** What a classifier says of a thread that grows: each call takes the next post. */
export type ReadNext = (post: ReadPost) => readonly number[];

export interface PrefixReader {
  readonly labels: readonly string[];
  /** Begins a thread. Each post costs the same, however many came before it. */
  open(): ReadNext;
}

/** Reads prefixes of threads with a saved local detector. */
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

/** A function that embeds one text. */
export function embedder(options: TextHasherOptions): (text: string) => Float32Array {
  const hashInto = textHasher(options);
  return (text) => {
    const row = new Float32Array(options.dimensions);
    hashInto(text, row);
    return row;
  };
}
