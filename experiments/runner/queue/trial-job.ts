import { z } from 'zod';
import { sha256 } from '../../../src/content-hash.ts';
import { trialSchema } from '../../run/trial.ts';
import { thisProgram } from './this-program.ts';

/** Who made a job. Read before the rest, which another program may have written in another form. */
export const jobMakerSchema = z.object({ program: z.string().catch('another version') });

/** The trial in a job. A worker chooses folders itself. */
export const trialJobSchema = z.object({
  program: z.string().describe('of the sweep: another one might come to other results'),
  trial: trialSchema.omit({ directory: true, runs: true }),
  id: z.string().describe('names the trial in the queue, and its folder with a worker'),
  files: z.array(z.object({ path: z.string(), sha256: z.string() })).describe('what the trial reads'),
});
export type TrialJob = z.output<typeof trialJobSchema>;

/** The note on a job that a worker leaves to others. */
export const declinedSchema = z.object({ declined: z.string().describe('by whom and why, for people') });

/** Identifies a trial by its settings, its data and the program. */
export function trialName({ trial, files }: Pick<TrialJob, 'trial' | 'files'>): string {
  const { label: _, ...content } = trial;
  return sha256([thisProgram(), content, files.map((file) => file.sha256)]).slice(0, 24);
}
