import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { sha256 } from '../../../src/content-hash.ts';
import { trialTaskSchema } from '../trial-process.ts';

/** What a worker is told of a trial. Folders are its own. */
export const trialJobSchema = z.object({
  version: z.string().describe('of Earshot: another one might come to other results'),
  task: trialTaskSchema.omit({ directory: true, runs: true }),
  /** Names the trial in the queue, and its folder with a worker. */
  id: z.string(),
  files: z.array(z.object({ path: z.string(), sha256: z.string() })).describe('what the trial reads'),
});
export type TrialJob = z.output<typeof trialJobSchema>;

export const jobVersion = packageJson.version;

/** What a worker answers: how the trial ended. Its run directory lies in Redis then, unless it failed. */
export const jobOutcomeSchema = z.discriminatedUnion('how', [
  z.object({ how: z.enum(['finished', 'paused']) }),
  z.object({
    how: z.literal('failed'),
    severity: z.union([z.literal(1), z.literal(2), z.literal(3)]),
    message: z.string(),
  }),
]);
export type JobOutcome = z.output<typeof jobOutcomeSchema>;

/** The same trial on other data is another one, and so is one of another version. */
export function jobName(of: { id: string; files: TrialJob['files'] }): string {
  return `${of.id}-${sha256([jobVersion, of.files.map((file) => file.sha256)]).slice(0, 12)}`;
}
