import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { removeRun } from '../../checkpoints/run-lock.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { hashesOf } from '../../src/file-hash.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';
import { checkedConfig } from '../config/config-problems.ts';
import { planSweep, type SweepPlan, type SweepTrial } from './plan.ts';
import { loadedSweepSchema } from './sweep-file.ts';
import { trialsOfPlan } from './trials-of-plan.ts';

/*
 * The folder of a sweep, `<runs>/<name>`:
 *
 *   sweep.json     which settings and seed each trial has, the hashes of the files that they read, and the sweep file
 *   trials/<id>/   a run directory each
 *   shared/        files that many trials have in common, where not everything is kept (keep.ts)
 *
 * and the tables, report and pictures.
 */

const manifestSchema = z.looseObject({
  files: z.record(z.string(), z.string()),
  loaded: z.unknown().describe('a LoadedSweep'),
});

export interface SweepFolder {
  readonly path: string;
  readonly runs: string;
  directoryOf(trial: SweepTrial): string;
  /** SHA-256 of every file that the trials read. */
  readonly fileHashes: Readonly<Record<string, string>>;
}

/** The plan of the sweep in a folder. @throws InputError where another version made it */
export function planOfFolder(path: string): Promise<SweepPlan> {
  const manifest = join(path, 'sweep.json');
  const { loaded: input } = readJsonFile(manifest, manifestSchema);
  const wrong = `${manifest} holds a sweep that this version cannot read`;
  return planSweep(checkedConfig({ schema: loadedSweepSchema, input, wrong }));
}

/** Whether a folder is that of a sweep. */
export function isSweepFolder(path: string): boolean {
  return existsSync(join(path, 'sweep.json'));
}

/**
 * Opens the folder of a sweep, made where it is missing.
 * @throws InputError where a file that trials of this sweep have read was changed since
 */
export async function openSweepFolder(
  plan: SweepPlan,
  { runs, restart }: { runs: string; restart: boolean },
): Promise<SweepFolder> {
  const path = join(runs, plan.name);
  const manifest = join(path, 'sweep.json');
  if (restart) {
    for (const trial of trialsOfPlan(plan)) await removeRun(join(path, 'trials', trial.id));
    rmSync(path, { recursive: true, force: true });
  }
  if (existsSync(path) && !existsSync(manifest) && readdirSync(path).some((name) => !name.startsWith('.')))
    throw new InputError(
      `${path} holds something else than a sweep; give the sweep another name, or choose other --runs`,
    );
  const fileHashes = await hashesOf(plan.files);
  const known = existsSync(manifest) ? readJsonFile(manifest, manifestSchema).files : {};
  const changed = Object.keys(fileHashes).find((file) => known[file] !== undefined && known[file] !== fileHashes[file]);
  if (changed !== undefined)
    throw new InputError(
      `${changed} was changed since trials of ${path} read it; restore it, give the sweep another name, or --restart`,
    );
  makeFolder(join(path, 'trials'));
  writeJsonFile(manifest, {
    name: plan.name,
    // Those of earlier plans, too: their trials are still here, and a later plan may come back to them.
    files: { ...known, ...fileHashes },
    trials: Object.fromEntries(trialsOfPlan(plan).map(({ id, label }) => [id, label])),
    loaded: plan.loaded,
  });
  return { path, runs, fileHashes, directoryOf: ({ id }) => join(path, 'trials', id) };
}
