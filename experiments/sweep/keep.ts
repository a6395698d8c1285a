import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readTensorFile, tensorFile } from '../../checkpoints/tensor-file.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';

/*
 * What the finished trials of a sweep leave behind. Ten thousand trials are ten thousand folders, most of whose bytes nobody asks for
 * again.
 */

/**
 * all: everything; policies: what decides, calibrates and exports, and the scores; results: the scores alone. Tables, reports and
 * `--json` need no more than results.
 */
export const keeps = ['all', 'policies', 'results'] as const;
export type Keep = (typeof keeps)[number];

/** Logs and charts of the training. */
const ofTraining = /^(metrics\.jsonl|(development-)?stop-probabilities\.jsonl|events\.out\.tfevents\..+)$/;
/** What decides. */
const ofPolicy = /^(checkpoints|(detector|student|schedule|trained-claims|threshold)\.json|(projection|cloning)\..+)$/;
/** The same in every trial of a seed. */
const shared = /^((parts|trained-claims)\.json|(development-)?judged\.jsonl)$/;

/**
 * Removes what is not to be kept of a finished trial. A trial that was reduced already is left as it is.
 * @param options.sharedFolder where files that are equal in many trials are kept once; trials have hard links to them
 */
export function reduceTrial(directory: string, { keep, sharedFolder }: { keep: Keep; sharedFolder: string }): void {
  if (keep === 'all') return;
  for (const name of readdirSync(directory)) {
    if (ofTraining.test(name) || (keep === 'results' && ofPolicy.test(name)))
      rmSync(join(directory, name), { recursive: true, force: true });
    else if (shared.test(name)) shareFile(join(directory, name), sharedFolder);
  }
  if (keep === 'policies') keepPolicy(RunDirectory.open(directory));
}

/** What only further training would read: moments of optimisers, discriminators, places in streams. */
const ofTrainer = /^(discriminator|stream|environment)\b|\/(first|second)Moments\//;

/** Leaves the last checkpoint, without what only further training would read. */
function keepPolicy(run: RunDirectory): void {
  const latest = run.latestCheckpoint();
  if (latest === null) return;
  run.pruneCheckpoints({ keepLast: 1 });
  const { arrays, metadata } = readTensorFile(latest.path);
  const kept = Object.entries(arrays).filter(([name]) => !ofTrainer.test(name));
  if (kept.length === Object.keys(arrays).length) return;
  writeFileAtomically(latest.path, tensorFile({ arrays: Object.fromEntries(kept), metadata }));
}

/** Puts a link in the place of a file whose bytes are in the folder already. Runs never change these files. */
function shareFile(path: string, folder: string): void {
  const name = createHash('sha256').update(readFileSync(path)).digest('hex');
  const kept = join(folder, name);
  mkdirSync(folder, { recursive: true });
  try {
    if (!existsSync(kept)) linkSync(path, kept);
    else {
      const link = `${path}.link`;
      rmSync(link, { force: true });
      linkSync(kept, link);
      renameSync(link, path);
    }
  } catch (error) {
    // A disk without hard links, or with too many on one file: the trial keeps its own.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}
