import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import type { Guarantee } from '../../../checkpoints/policy/guarantee.ts';
import { loadPolicy, type Policy, type PolicySource } from '../../../checkpoints/policy/load-policy.ts';
import {
  bundleFiles,
  checkDigest,
  type Manifest,
  parseBundleJson,
  readManifest,
} from '../../../checkpoints/policy/manifest.ts';
import { guaranteeInBundle } from '../../../checkpoints/policy/write-bundle.ts';
import { taskOfLabel } from '../../../src/data/task.ts';
import { type Thread, threadIdentity } from '../../../src/data/thread.ts';
import { diskError, InputError } from '../../../src/errors.ts';
import { missingRun } from '../../../src/missing-path.ts';
import { judgePostsBy } from '../../judging/judge-posts.ts';
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
  /** The gold label of a thread; null where it has none. */
  goldOf(thread: Thread): string | null;
  /** Whether the thread is in `trained` or `tested`. */
  isFamiliar(thread: Thread): boolean;
  /** Puts a guarantee in the place of the present one. Decisions of this object stay as they are. */
  writeGuarantee(guarantee: Guarantee): Promise<void>;
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
  const bundle = policyFolder(folder);
  const read = (name: string) => bundleFile(bundle, name);
  const manifest = await readManifest(new TextDecoder().decode(await read(bundleFiles.manifest)));
  if (judge !== null) checkLabels(judge, manifest.task);
  const encoding = needsEncoder(manifest)
    ? await (await import('./encoding-sources.ts')).encodingSources(read, manifest)
    : {};
  const policy = await loadPolicy({ read, ...encoding, ...(judge !== null && { judge: judgePostsBy(judge) }) });
  const trained = await identitiesIn(read, { manifest, name: bundleFiles.trained });
  const tested = await identitiesIn(read, { manifest, name: bundleFiles.tested });
  const task = taskOfLabel(manifest.task);
  return {
    ...policy,
    hasFreeDetector: policy.hasDetector && judge === null,
    folder: bundle,
    goldOf: (thread) => task.labels[task.goldLabel(thread) ?? -1] ?? null,
    trained,
    tested,
    isFamiliar: (thread) => trained.has(threadIdentity(thread)) || tested.has(threadIdentity(thread)),
    writeGuarantee: (guarantee) => guaranteeInBundle(bundle, guarantee),
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
  if (!existsSync(folder)) throw new InputError(missingRun(folder));
  const remedy = existsSync(join(folder, 'config.json'))
    ? 'a run of a stop agent has one when it is finished, unless a sweep keeps results alone; give the same `earshot train` again'
    : 'give a folder that `earshot train` or `earshot export` made';
  throw new InputError(
    `${folder} holds no policy: there is no ${bundleFiles.manifest} in it or in its folder ${policyFolderName}; ${remedy}`,
  );
}

async function bundleFile(folder: string, name: string): Promise<Uint8Array> {
  const path = join(folder, name);
  try {
    return await readFile(path);
  } catch (error) {
    throw diskError(error, { what: `read ${path} of the bundle` });
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

/** Identities of the threads that a file of a bundle lists. */
async function identitiesIn(
  read: PolicySource['read'],
  { manifest, name }: { manifest: Manifest; name: string },
): Promise<ReadonlySet<string>> {
  if (manifest.files[name] === undefined) return new Set();
  const bytes = new Uint8Array(await read(name));
  await checkDigest(bytes, { name, sha256: manifest.files[name] });
  return new Set(parseBundleJson(new TextDecoder().decode(bytes), { name, schema: z.array(z.string()) }));
}

function checkLabels({ name, labels }: PrefixJudge, task: Manifest['task']): void {
  if (task.labels.every((label) => labels.includes(label))) return;
  throw new InputError(
    `the detector ${name} answers ${labels.join(' or ')}, and the agent decides ${task.name} (${task.labels.join(', ')}); give a detector of that task`,
  );
}
