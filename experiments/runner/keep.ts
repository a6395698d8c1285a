import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { policyFolderName } from '../stop-agent/policy/policy-folder.ts';

/*
 * The files that finished trials leave behind. Ten thousand trials are ten thousand folders, most of whose bytes nobody asks for
 * again.
 */

/**
 * all: everything; policies: what decides, calibrates and exports, and the scores; results: the scores alone. Tables, reports and
 * `--json` need no more than results.
 */
export type Keep = 'all' | 'policies' | 'results';

/** Files for further training, and logs of it. */
const ofTraining = /^(checkpoints|metrics\.jsonl|(development-)?stop-probabilities\.jsonl|events\.out\.tfevents\..+)$/;
/** Files of the policy. */
const ofPolicy = /^(policy|threshold\.json|cloning\..+)$/;
/** Files that are equal in all trials of a seed. */
const shared = /^(parts\.json|(development-)?judged\.jsonl)$/;
/** Files that are equal in the policies of a seed, or in all. */
const sharedInPolicies = ['characters.json', 'detector.json', 'earshot_policy.py', 'refusals.jsonl'];

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
  for (const name of sharedInPolicies) {
    const path = join(directory, policyFolderName, name);
    if (existsSync(path)) shareFile(path, sharedFolder);
  }
}

/** Puts a link in the place of a file whose bytes are in the folder already. Runs never change these files. */
function shareFile(path: string, folder: string): void {
  const name = createHash('sha256').update(readFileSync(path)).digest('hex');
  const target = join(folder, name);
  mkdirSync(folder, { recursive: true });
  try {
    if (!existsSync(target)) linkSync(path, target);
    else {
      const link = `${path}.link`;
      rmSync(link, { force: true });
      linkSync(target, link);
      renameSync(link, path);
    }
  } catch (error) {
    // A disk without hard links, or with too many on one file: the trial keeps its own.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}
