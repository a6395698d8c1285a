import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { sha256 } from '../../../src/content-hash.ts';
import { trialSchema } from '../../run/trial.ts';

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

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** `.ts` in a checkout, `.js` in the package. */
const extension = extname(fileURLToPath(import.meta.url));
const rooms = ['checkpoints', 'envs', 'experiments', 'experts', 'src', 'trainers'];

/**
 * Names the program that runs here by its version and its sources: a checkout and the package built from it differ, though
 * they come to the same results.
 */
export function thisProgram(): string {
  program ??= `${packageJson.version} (sources ${hashOfSources().slice(0, 12)})`;
  return program;
}

/** Named once per process, because its sources are many. */
let program: string | null = null;

function hashOfSources(): string {
  const hash = createHash('sha256');
  const paths = rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => extname(path) === extension)
      .map((path) => join(room, path)),
  );
  for (const path of paths.sort()) hash.update(path).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}
