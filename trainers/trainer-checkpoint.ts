import { z } from 'zod';
import { loadCheckpoint, saveCheckpoint } from '../checkpoints/checkpoint.ts';
import { InputError } from '../src/errors.ts';
import type { TrainerState } from './trainer.ts';

/* A trainer's state in one file. */

const kind = 'trainer';
const formatVersion = 2;
const stateSchema = z.strictObject({ algorithm: z.string(), identity: z.string(), values: z.unknown() });

/** The trainer and states that a checkpoint must have, for its weights to mean anything. */
export interface CheckpointOwner {
  /** The trainer's name; null accepts any. */
  readonly algorithm: string | null;
  /** Names what the states are made of: a policy means nothing on the states of another encoder. */
  readonly identity: string;
}

/** Writes the file whole or not at all. */
export function saveTrainer(path: string, owner: { algorithm: string; identity: string }, state: TrainerState): void {
  const { algorithm, identity } = owner;
  saveCheckpoint(path, {
    kind,
    formatVersion,
    arrays: state.arrays,
    state: { algorithm, identity, values: state.values },
  });
}

/** @throws InputError when the file is damaged, of another algorithm, or of other states */
export function loadTrainer(path: string, owner: CheckpointOwner): TrainerState {
  const { arrays, state } = loadCheckpoint(path, { kind, formatVersion, stateSchema });
  if (owner.algorithm !== null && state.algorithm !== owner.algorithm)
    throw new InputError(
      `${path} is of the algorithm ${state.algorithm}, and ${owner.algorithm} is trained; give a run of that algorithm`,
    );
  if (state.identity !== owner.identity)
    throw new InputError(
      `${path} was trained on states made by ${state.identity}, and these are made by ${owner.identity}; use the same encoder, models and state options`,
    );
  return { arrays, values: state.values };
}
