import { z } from 'zod';
import { sha256 } from '../../../src/content-hash.ts';
import { trialOutcomeSchema, trialTaskSchema } from '../../run/trial.ts';
import { thisProgram } from './this-program.ts';

/** Who made a job. Read before the rest, which another program may have written in another form. */
export const jobMakerSchema = z.object({ program: z.string().catch('another version') });

const queuedTrialSchema = z.object({
  task: trialTaskSchema.omit({ directory: true, runs: true }),
  /** Names the trial in the queue, and its folder with a worker. */
  id: z.string(),
  files: z.array(z.object({ path: z.string(), sha256: z.string() })).describe('what the trial reads'),
});
export type QueuedTrial = z.output<typeof queuedTrialSchema>;

/** What a worker is told: the trials that it trains in one program. Folders are its own. */
export const trialJobSchema = z.object({
  program: z.string().describe('of the sweep: another one might come to other results'),
  trials: z.array(queuedTrialSchema).nonempty(),
});
export type TrialJob = z.output<typeof trialJobSchema>;

/** What a worker notes on a job that it leaves to others. */
export const declinedSchema = z.object({ declined: z.string().describe('by whom and why, for people') });

/** What a worker answers: what became of each trial. Run directories of those that have not failed lie in Redis then. */
export const jobOutcomeSchema = z.array(trialOutcomeSchema);

/** The same trial on other data is another one, and so is one of another program. */
export function trialName(of: { id: string; files: QueuedTrial['files'] }): string {
  return `${of.id}-${sha256([thisProgram(), of.files.map((file) => file.sha256)]).slice(0, 12)}`;
}

/** Of a trial alone, or of the trials that share a program. */
export function jobName(trials: readonly QueuedTrial[]): string {
  const [{ id }, ...others] = trials;
  if (others.length === 0) return id;
  return `${id}-and-${others.length}-${sha256(trials.map((trial) => trial.id)).slice(0, 12)}`;
}
