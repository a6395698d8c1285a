import { existsSync } from 'node:fs';
import { foldersWith } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';
import { missingRun } from '../../src/missing-path.ts';
import { failureName } from './failure-file.ts';

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
