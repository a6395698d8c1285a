import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { backendNames } from '../../src/tensor/backend-names.ts';
import type { WorkContext } from '../../src/work-context.ts';

/** One training: an experiment with one seed, as the process that trains it is told. */
export const trialSchema = z.object({
  kind: z.string(),
  /** The resolved experiment. */
  config: z.record(z.string(), z.unknown()),
  seed: z.int(),
  /** For people. */
  label: z.string(),
  directory: z.string(),
  /** Folder of the shared cache. */
  runs: z.string(),
  /** Trials with the same one train the same detector; null where none is trained. */
  detectorKey: z.string().nullable(),
  /** The backend to train on; null for that of the experiment. */
  backend: z.enum(backendNames).nullable(),
  maxWaitMs: z.number().nullish().describe('the longest wait that an endpoint may ask for; unless given as configured'),
});
export type Trial = Readonly<z.output<typeof trialSchema>>;

/** The end of a trial. */
export const trialOutcomeSchema = z.discriminatedUnion('how', [
  z.object({ how: z.literal('finished') }),
  z.object({ how: z.literal('interrupted') }),
  z.object({
    how: z.literal('failed'),
    /** As exit codes go: 1 the user's input, 2 a provider, 3 a defect. */
    severity: z.union([z.literal(1), z.literal(2), z.literal(3)]),
    message: z.string(),
  }),
]);
export type TrialOutcome = Readonly<z.output<typeof trialOutcomeSchema>>;
export type TrialFailure = Extract<TrialOutcome, { how: 'failed' }>;

/** Events of a running trial. */
export type TrialWatch = Partial<Pick<WorkContext, 'onProgress'>>;

/** A trial that waits for whoever runs it. */
export interface WaitingTrial {
  readonly trial: Trial;
  readonly watch: TrialWatch;
  readonly resolve: (outcome: TrialOutcome) => void;
}

/** Runs a trial somewhere, to its end, and returns what became of it. It never throws for what goes wrong in the trial. */
export type RunTrial = (trial: Trial, watch?: TrialWatch) => Promise<TrialOutcome>;

/** Whether the training in this folder, if there is any, was done to its end. */
export function isFinished(directory: string): boolean {
  return existsSync(join(directory, 'result.json'));
}

/** Names a trial within its experiment, such as `paper/seed-1`. */
export function trialId({ directory }: Pick<Trial, 'directory'>): string {
  return `${basename(dirname(directory))}/${basename(directory)}`;
}
