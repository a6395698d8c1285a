import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../src/errors.ts';
import { missingRun } from '../../src/missing-path.ts';
import { failureName } from './failure-file.ts';
import { isFinished } from './trial.ts';

/**
 * The runs in a folder and at most so many levels below it, in the order of their names; the folder alone if it is itself a run.
 * @throws InputError where there is no such folder
 */
export function runsBelow(folder: string, levels: number): string[] {
  if (!existsSync(folder)) throw new InputError(missingRun(folder));
  return foldersWith(['config.json'], folder, levels);
}

/** Runs below a folder, and folders of trainings that failed before there was a run. */
export function trainingsBelow(folder: string, levels: number): string[] {
  return foldersWith(['config.json', failureName], folder, levels);
}

function foldersWith(names: readonly string[], folder: string, levels: number): string[] {
  if (!statSync(folder).isDirectory()) return [];
  if (names.some((name) => existsSync(join(folder, name)))) return [folder];
  if (levels === 0) return [];
  return readdirSync(folder)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap((name) => foldersWith(names, join(folder, name), levels - 1));
}

/** Those of them that are finished. @throws as `runsBelow` */
export function finishedBelow(folder: string, levels: number): string[] {
  return runsBelow(folder, levels).filter(isFinished);
}
