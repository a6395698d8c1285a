import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { removeRun } from '../../checkpoints/run-lock.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { hashesOf } from '../../src/content-hash.ts';
import { InputError } from '../../src/errors.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';
import { missingPath } from '../../src/missing-path.ts';
import { checkedConfig } from '../config/config-problems.ts';
import { type OpenedExperiment, trialsOf } from '../kinds/experiment-kind.ts';
import { runsBelow, trainingsBelow } from '../run/runs-below.ts';
import type { Trial } from '../run/trial.ts';
import { isSweep, planSweep, type SweepPlan } from '../sweep/plan.ts';
import { loadedSweepSchema } from '../sweep/sweep-file.ts';

/*
 * The folder of an experiment, `<runs>/<name>`:
 *
 *   experiment.json        SHA-256 of every file that its runs read, by its path; and of a sweep what it was planned from
 *   <member>/seed-<seed>/  a run directory for each variant, or setting of a sweep, and each seed
 *   shared/                files that many runs have in common, where not everything is kept (keep.ts)
 *
 * and the report, its tables, pictures and policy. Runs of other files are never mixed, whatever seeds they have.
 */

const manifestName = 'experiment.json';
/** Of sweeps up to version 0.2.0. */
const oldManifest = 'sweep.json';
const manifestSchema = z.object({ files: z.record(z.string(), z.string()), sweep: z.unknown().optional() });

export function folderOf({ runs, name }: Pick<OpenedExperiment, 'runs' | 'name'>): string {
  return join(runs, name);
}

/** @throws InputError for a file that runs are to read and that is not there */
export function refuseMissingFiles(experiment: OpenedExperiment): void {
  const missing = filesOf(experiment).find((file) => !existsSync(file));
  if (missing !== undefined) throw new InputError(missingPath(missing));
}

/** Notes what the files are now, before runs read them. Those of earlier runs stay: these may be come back to. */
export async function noteFiles(experiment: OpenedExperiment): Promise<void> {
  const folder = folderOf(experiment);
  makeFolder(folder);
  const files = { ...manifestIn(folder).files, ...(await hashesNow(experiment)) };
  const sweep = isSweep(experiment) ? { sweep: experiment.loaded } : {};
  writeJsonFile(join(folder, manifestName), { files, ...sweep });
}

/** Differences to the runs of this name: files that they read, or settings of the first run that was begun with others. */
export async function differencesOf(experiment: OpenedExperiment): Promise<string[]> {
  return [...(await otherReading(experiment)), ...otherSettings(experiment)];
}

/**
 * Removes runs that are to begin again. Where runs of this name have read other files, none of them is left.
 * @throws InputError where another process writes one
 */
export async function removeRuns(experiment: OpenedExperiment, trials: readonly Trial[]): Promise<void> {
  const folder = folderOf(experiment);
  const isOther = (await otherReading(experiment)).length > 0;
  const directories = isOther ? trainingsBelow(folder, 2) : trials.map(({ directory }) => directory);
  for (const directory of directories) await removeRun(directory);
  rmSync(join(folder, oldManifest), { force: true });
}

async function otherReading(experiment: OpenedExperiment): Promise<string[]> {
  const folder = folderOf(experiment);
  // A file that was fixed before any run began has changed nothing.
  if (!existsSync(folder) || runsBelow(folder, 2).length === 0) return [];
  if (existsSync(join(folder, oldManifest))) return ['they are of a sweep of Earshot 0.2.0 or earlier'];
  const { files, sweep } = manifestIn(folder);
  if (isSweep(experiment) !== (sweep !== undefined)) return [`they are of ${sweep === undefined ? 'no' : 'a'} sweep`];
  const now = await hashesNow(experiment);
  const changed = Object.keys(now).filter((file) => files[file] !== undefined && files[file] !== now[file]);
  return changed.map((file) => `${file} was changed since`);
}

function otherSettings(experiment: OpenedExperiment): string[] {
  const begun = trialsOf(experiment).filter(({ directory }) => existsSync(join(directory, 'config.json')));
  for (const { directory, config } of begun) {
    const differences = RunDirectory.open(directory).otherSettings(config);
    if (differences.length > 0) return differences;
  }
  return [];
}

/**
 * The sweep in a folder of runs; null where it holds none.
 * @throws InputError where another version made it
 */
export async function sweepIn(folder: string, { runs }: { runs: string }): Promise<SweepPlan | null> {
  if (existsSync(join(folder, oldManifest)))
    throw new InputError(`${folder} holds a sweep of Earshot 0.2.0 or earlier; run its file again`);
  const { sweep: input } = manifestIn(folder);
  if (input === undefined) return null;
  const wrong = `${join(folder, manifestName)} holds a sweep that this version cannot read`;
  return planSweep(checkedConfig({ schema: loadedSweepSchema, input, wrong }), { runs });
}

function manifestIn(folder: string): z.output<typeof manifestSchema> {
  const path = join(folder, manifestName);
  return existsSync(path) ? readJsonFile(path, manifestSchema) : { files: {} };
}

function filesOf({ members }: OpenedExperiment): string[] {
  return [...new Set(members.flatMap(({ resolved: { files } }) => files))].sort();
}

function hashesNow(experiment: OpenedExperiment): Promise<Record<string, string>> {
  return hashesOf(filesOf(experiment).filter((file) => existsSync(file)));
}
