import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Policy, policyOf } from '../../../checkpoints/policy/load-policy.ts';
import { bundleFiles, claimIdentity, type Manifest, openBundle } from '../../../checkpoints/policy/manifest.ts';
import { judgePostsBy } from '../../../checkpoints/policy/policy-post.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { diskError, InputError } from '../../../src/errors.ts';
import { missingRun } from '../../../src/missing-path.ts';
import type { PrefixJudge } from '../../judging/judge-single-prefixes.ts';
import { deployedRun, evaluatedRun } from '../shipped-run.ts';

/*
 * A policy on disk is a bundle, whoever reads it. A training leaves one in the folder `policy` of each run, and the recommended one in
 * that of the experiment; `earshot export` makes others.
 */

/** In the folder of a run or an experiment. */
export const policyFolderName = 'policy';

/** A policy that was opened from its folder. */
export interface OpenedPolicy extends Policy {
  /** The folder of the bundle. */
  readonly folder: string;
  /** Identities of the threads that it learnt from, and of those that its training tested or calibrated it on. */
  readonly trained: ReadonlySet<string>;
  readonly tested: ReadonlySet<string>;
  /** Whether the thread is in `trained` or `tested`. */
  isFamiliar(thread: Thread): Promise<boolean>;
}

/**
 * Opens a policy. Encoders that the bundle does not hold are made here.
 * @param folder a bundle, or the folder of a run or an experiment, whose `policy` is opened
 * @param options.judge asked in place of the policy's detector
 * @throws InputError for a folder without a policy, a file that is missing or was changed, a golden thread that is decided differently,
 *   or a detector with other labels
 */
export async function openPolicy(
  folder: string,
  { judge = null }: { judge?: PrefixJudge | null } = {},
): Promise<OpenedPolicy> {
  const path = policyFolder(folder);
  try {
    return await policyIn(path, judge);
  } catch (error) {
    // Several bundles may be opened, and messages name files within one.
    throw error instanceof InputError ? new InputError(`${path}: ${error.message}`, { cause: error }) : error;
  }
}

async function policyIn(path: string, judge: PrefixJudge | null): Promise<OpenedPolicy> {
  const bundle = await openBundle((name) => bundleFile(path, name));
  const { manifest } = bundle;
  if (judge !== null) checkLabels(judge, manifest.task);
  const encoding = needsEncoder(manifest) ? await (await import('./encoding-sources.ts')).encodingSources(bundle) : {};
  const judging = judge !== null && { judge: judgePostsBy(judge) };
  const policy = await policyOf(bundle, { ...encoding, ...judging });
  const trained = await bundle.identities(bundleFiles.trained);
  const tested = await bundle.identities(bundleFiles.tested);
  return {
    ...policy,
    hasFreeDetector: policy.hasDetector && judge === null,
    folder: path,
    trained,
    tested,
    async isFamiliar({ id, posts: [claim] }) {
      const identity = await claimIdentity({ id, claim: claim.text });
      return trained.has(identity) || tested.has(identity);
    },
  };
}

/**
 * The bundle in a folder, or in the `policy` of a run or an experiment; of a cross-fitted seed that of the first one, which ships for all.
 * Null where there is none.
 */
export function findPolicy(folder: string): string | null {
  const places = [folder, join(folder, policyFolderName), join(evaluatedRun(deployedRun(folder)), policyFolderName)];
  return places.find((path) => existsSync(join(path, bundleFiles.manifest))) ?? null;
}

/** The bundle that `findPolicy` finds. @throws InputError where there is none */
export function policyFolder(folder: string): string {
  const bundle = findPolicy(folder);
  if (bundle !== null) return bundle;
  const remedy = existsSync(join(folder, 'config.json'))
    ? 'a run of a stop agent has one when it is finished, unless a sweep keeps results alone; give the same `earshot train` again'
    : 'give a folder that `earshot train` or `earshot export` made';
  throw new InputError(
    existsSync(folder)
      ? `${folder} holds no policy: there is no ${bundleFiles.manifest} in it or in its folder ${policyFolderName}; ${remedy}`
      : missingRun(folder),
  );
}

async function bundleFile(folder: string, name: string): Promise<Uint8Array> {
  try {
    return await readFile(join(folder, name));
  } catch (error) {
    throw diskError(error, { what: `read ${name} of the bundle` });
  }
}

/** Whether a bundle leaves an encoder to whoever loads it: that of posts, of its detector or of its student. */
function needsEncoder({ encoder, detector, student, files }: Manifest): boolean {
  const isWithout = (model: string | null, file: string) => model === null && files[file] !== undefined;
  return (
    (encoder !== null && encoder.name !== 'hashing') ||
    isWithout(detector, bundleFiles.detector) ||
    isWithout(student, bundleFiles.student)
  );
}

function checkLabels({ name, labels }: PrefixJudge, task: Manifest['task']): void {
  if (task.labels.every((label) => labels.includes(label))) return;
  throw new InputError(
    `the detector ${name} answers ${labels.join(' or ')}, and the agent decides ${task.name} (${task.labels.join(', ')}); give a detector of that task`,
  );
}
