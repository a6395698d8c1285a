import * as z from 'zod/mini';
import { poolDivisor } from '../../src/data/post-pooling.ts';
import { type DetectorOutput, observedFeatures } from './detector-aware-agent.ts';
import { hashingIdentitySchema } from './hashing-identity.ts';
import type { Manifest } from './manifest.ts';
import type { PolicyPost } from './policy-posts.ts';
import { embedder, type PrefixReader, studentFeatures } from './prefix-reader.ts';

/**
 * Begins threads whose states are made post by post, the action before each being "continue". The function that comes
 * back takes the next posts, with what the detector said of each prefix up to them that it was asked about, if
 * the agent observes it; it returns a state for each post, row-major [posts, columns].
 */
export function stateMaker(
  manifest: Manifest,
  options: { embed: ((texts: readonly string[]) => Promise<Float32Array>) | undefined; student: PrefixReader | null },
): () => (posts: readonly PolicyPost[], outputs: readonly (DetectorOutput | undefined)[]) => Promise<Float32Array> {
  const { student } = options;
  const { encoder, state } = manifest;
  const dimensions = state.fields.find(({ name }) => name === 'posts')?.count ?? 0;
  const hashing = z.safeParse(hashingIdentitySchema, encoder);
  const embedOne = hashing.success ? embedder(hashing.data) : () => [];
  const embed =
    options.embed ??
    (async (texts: readonly string[]) => {
      const rows = new Float32Array(texts.length * dimensions);
      for (const [index, text] of texts.entries()) rows.set(embedOne(text), index * dimensions);
      return rows;
    });
  const fromOf = (field: string) => state.fields.find(({ name }) => name === field)?.from ?? state.columns;
  const [countFrom, studentFrom, observedFrom] = ['posts seen', 'student', 'judgement'].map(fromOf);
  const pooling = state.pooling ?? 'sum';
  const embedded = async (texts: readonly string[]) => (dimensions === 0 ? new Float32Array(0) : embed(texts));
  let continued: Float32Array | null = null;
  return () => {
    const sum = new Float64Array(dimensions);
    const features = student === null ? null : studentFeatures(student);
    let read = 0;
    return async (posts, outputs) => {
      const judged = observedFeatures(outputs, manifest);
      const judgedCount = state.columns - observedFrom;
      const embeddings = await embedded(posts.map(({ text }) => text));
      continued ??= await embedded([state.previousActions.continue]);
      const states = new Float32Array(posts.length * state.columns);
      for (const [step, post] of posts.entries()) {
        const row = states.subarray(step * state.columns, (step + 1) * state.columns);
        const divisor = poolDivisor(pooling, read + 1);
        for (let i = 0; i < dimensions; i++) {
          sum[i] += embeddings[step * dimensions + i];
          row[i] = sum[i] / divisor + (read === 0 ? 0 : continued[i]);
        }
        if (countFrom < state.columns) row[countFrom] = Math.log(read + 1);
        if (features !== null) row.set(features(post), studentFrom);
        row.set(judged.subarray(read * judgedCount, (read + 1) * judgedCount), observedFrom);
        read++;
      }
      return states;
    };
  };
}
