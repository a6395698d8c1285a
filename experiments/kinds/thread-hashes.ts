import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { hashesOf } from '../../src/file-hash.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';
import { missingPath } from '../../src/missing-path.ts';
import { runsBelow } from '../run/runs-below.ts';
import type { ResolvedExperiment } from './experiment-kind.ts';

/*
 * `<runs>/<name>/threads.json`: SHA-256 of every file of threads that the runs of an experiment read, by its path. Runs of
 * other threads are never mixed, whatever seeds they have.
 */

/** An experiment, as far as this goes. */
interface Reading {
  readonly name: string;
  readonly runs: string;
  readonly variants: readonly Pick<ResolvedExperiment, 'threadFiles'>[];
}

const hashesSchema = z.record(z.string(), z.string());

/** @throws InputError for a file that runs are to read and that is not there */
export function refuseMissingThreads(experiment: Reading): void {
  const missing = threadFilesOf(experiment).find((file) => !existsSync(file));
  if (missing !== undefined) throw new InputError(missingPath(missing));
}

/** Notes what the files are now, before runs read them. */
export async function noteThreads(experiment: Reading): Promise<void> {
  if (threadFilesOf(experiment).length === 0) return;
  makeFolder(dirname(pathOf(experiment)));
  writeJsonFile(pathOf(experiment), { ...notedHashes(experiment), ...(await hashesNow(experiment)) });
}

/** Files that were changed since runs of this experiment read them. One that is missing now is not counted. */
export async function changedThreads(experiment: Reading): Promise<string[]> {
  const noted = notedHashes(experiment);
  if (Object.keys(noted).length === 0) return [];
  // A file that was fixed before any run began has changed nothing.
  if (runsBelow(join(experiment.runs, experiment.name), 2).length === 0) return [];
  const now = await hashesNow(experiment);
  return Object.keys(now).filter((file) => noted[file] !== undefined && noted[file] !== now[file]);
}

function threadFilesOf({ variants }: Reading): string[] {
  return [...new Set(variants.flatMap(({ threadFiles }) => threadFiles))];
}

function hashesNow(experiment: Reading): Promise<Record<string, string>> {
  return hashesOf(threadFilesOf(experiment).filter((file) => existsSync(file)));
}

function notedHashes(experiment: Reading): Readonly<Record<string, string>> {
  const path = pathOf(experiment);
  return existsSync(path) ? readJsonFile(path, hashesSchema) : {};
}

function pathOf({ runs, name }: Reading): string {
  return join(runs, name, 'threads.json');
}
