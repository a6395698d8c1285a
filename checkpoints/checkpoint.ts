import type { z } from 'zod';
import { writeFileAtomically } from '../src/atomic-file.ts';
import { InputError } from '../src/errors.ts';
import { exactJson } from './json-file.ts';
import { type NamedArrays, readTensorFile, tensorFile } from './tensor-file.ts';

/**
 * Everything a training needs to go on as if it had never stopped, in one file.
 * Weights and optimiser moments are arrays; step, random streams, configuration and hashes are `state`.
 */
export interface Checkpoint<State> {
  /** Which trainer's it is, such as `stop-agent`. */
  readonly kind: string;
  /** Raised by that trainer whenever the names, shapes or meaning of what it stores change. */
  readonly formatVersion: number;
  readonly arrays: NamedArrays;
  /** Plain JSON; every finite double in it reads back exactly. */
  readonly state: State;
}

export function saveCheckpoint(path: string, checkpoint: Checkpoint<unknown>): void {
  const metadata = {
    earshot: 'checkpoint',
    kind: checkpoint.kind,
    formatVersion: String(checkpoint.formatVersion),
    state: exactJson(checkpoint.state, 'state'),
  };
  writeFileAtomically(path, tensorFile({ arrays: checkpoint.arrays, metadata }));
}

export function loadCheckpoint<State>(
  path: string,
  expected: { kind: string; formatVersion: number; stateSchema: z.ZodType<State> },
): Checkpoint<State> {
  const file = readTensorFile(path);
  const { earshot, kind, formatVersion, state } = file.metadata;
  if (earshot !== 'checkpoint')
    throw new InputError(
      `${path} holds tensors but is not a checkpoint of Earshot; give a file from a run's checkpoints/`,
    );
  if (kind !== expected.kind)
    throw new InputError(
      `${path} is a checkpoint of kind ${JSON.stringify(kind)}, and ${JSON.stringify(expected.kind)} is needed; give one of a run of that kind`,
    );
  if (formatVersion !== String(expected.formatVersion))
    throw new InputError(
      `${path} has format version ${formatVersion} of kind ${JSON.stringify(kind)}, and this Earshot reads version ${expected.formatVersion}; use the Earshot that wrote it (its run.json names the version) or train again`,
    );
  const parsed = expected.stateSchema.safeParse(JSON.parse(state));
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `state.${issue.path.join('.')}: ${issue.message}`);
    throw new InputError(
      `${path} is intact, but its state is not what this Earshot expects (${problems.join('; ')}); use the Earshot that wrote it or train again`,
    );
  }
  return { kind: expected.kind, formatVersion: expected.formatVersion, arrays: file.arrays, state: parsed.data };
}
