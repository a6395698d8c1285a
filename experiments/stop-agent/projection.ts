import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readTensorFile, tensorFile } from '../../checkpoints/tensor-file.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { sha256 } from '../../src/content-hash.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { principalComponents } from '../../src/tensor/principal-components.ts';
import type { Projection } from '../../src/tensor/projection.ts';
import type { Cache } from './cache.ts';
import type { Experiment } from './experiment.ts';
import { statesOf } from './states.ts';

/*
 * `state.components`: the directions along which the pooled posts of the demonstration and environment threads vary most. Both
 * actions' states count, as they stand in the table.
 */

/**
 * The projection for these threads: from the cache, or fitted and put there.
 * @param threads demonstration and environment threads; no label is read
 * @returns null where the agent sees all numbers
 */
export async function projectionOf(
  threads: readonly Thread[],
  { experiment, cache }: { experiment: Experiment; cache: Cache },
): Promise<Projection | null> {
  const { posts, components } = experiment.state;
  if (components === null || posts === 'none') return null;
  const { identityHash, dimensions } = cache.embeddings;
  const texts = threads.map((thread) => thread.posts.map(({ text }) => text));
  const key = sha256({ posts, components, encoder: identityHash, texts }).slice(0, 32);
  const path = join(cache.projections, `${key}.safetensors`);
  if (existsSync(path)) return readProjection(path);
  const table = await statesOf(threads, {
    experiment,
    cache,
    student: null,
    projection: null,
    schedule: null,
    sequences: new Map(),
  });
  const projection = await principalComponents(table, { components, inputs: dimensions });
  writeProjection(path, projection);
  return projection;
}

function writeProjection(path: string, { inputs, components, weights, explained }: Projection): void {
  const arrays = {
    explained: { shape: [1], data: Float64Array.of(explained) },
    weights: { shape: [inputs, components], data: weights },
  };
  writeFileAtomically(path, tensorFile({ arrays, metadata: { earshot: 'projection' } }));
}

function readProjection(path: string): Projection {
  const { weights, explained } = readTensorFile(path).arrays;
  if (!(weights?.data instanceof Float32Array) || weights.shape.length !== 2 || explained === undefined)
    throw new InputError(`${path} is not the projection of a run; restore the file, or train the run again`);
  const [inputs, components] = weights.shape;
  return { inputs, components, weights: weights.data, explained: explained.data[0] };
}
