import type { z } from 'zod';
import { writeFileAtomically } from '../src/atomic-file.ts';
import { InputError, notOurs } from '../src/errors.ts';
import { exactJson, storedValue } from '../src/json-file.ts';
import { type NamedArrays, readTensorFile, tensorFile } from './tensor-file.ts';

/**
 * Everything that a training needs to resume as if it had never stopped, in one file. Weights and optimiser moments are
 * arrays; the step, random streams, configuration and hashes are `state`.
 */
export interface Checkpoint<State> {
  /** The trainer that wrote the checkpoint, such as `stop-agent`. */
  readonly kind: string;
  /** The trainer raises this number whenever the names, shapes or meaning of its arrays and state change. */
  readonly formatVersion: number;
  /** Arrays read back bit for bit, including every NaN. */
  readonly arrays: NamedArrays;
  /** Plain JSON. Every finite number reads back exactly, including −0. */
  readonly state: State;
}

/**
 * Writes a checkpoint as a safetensors file, whole or not at all.
 * @throws InputError if the disk refuses; Error if JSON cannot hold the state or an array does not fit its shape
 */
export function saveCheckpoint(path: string, checkpoint: Checkpoint<unknown>): void {
  const metadata = {
    earshot: 'checkpoint',
    kind: checkpoint.kind,
    formatVersion: String(checkpoint.formatVersion),
    state: exactJson(checkpoint.state, 'state'),
  };
  writeFileAtomically(path, tensorFile({ arrays: checkpoint.arrays, metadata }));
}

/**
 * Reads a checkpoint that `saveCheckpoint` wrote.
 * @throws InputError, with what to do, for a file that is missing, cut short, altered, of another kind or format
 *   version, or whose state the schema refuses
 */
export function loadCheckpoint<State>(
  path: string,
  expected: { kind: string; formatVersion: number; stateSchema: z.ZodType<State> },
): Checkpoint<State> {
  const file = readTensorFile(path);
  const { earshot, kind, formatVersion, state } = file.metadata;
  const isCheckpoint = earshot === 'checkpoint';
  if (isCheckpoint && formatVersion !== String(expected.formatVersion))
    throw notOurs(path, `format ${formatVersion} of ${kind}, and this version reads ${expected.formatVersion}`);
  if (kind !== expected.kind)
    throw new InputError(
      isCheckpoint
        ? `${path} is a checkpoint of kind ${JSON.stringify(kind)}, and ${JSON.stringify(expected.kind)} is needed; give one of a run of that kind`
        : `${path} holds tensors but is not a checkpoint of Earshot; give a file from a run's checkpoints/`,
    );
  return {
    kind: expected.kind,
    formatVersion: expected.formatVersion,
    arrays: file.arrays,
    state: storedValue(state, { schema: expected.stateSchema, place: path }),
  };
}
