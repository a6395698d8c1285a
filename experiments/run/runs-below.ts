import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../src/errors.ts';
import { missingPath } from '../../src/missing-path.ts';

/**
 * The runs in a folder and at most so many levels below it, in the order of their names; the folder alone if it is itself a run.
 * @throws InputError where there is no such folder
 */
export function runsBelow(folder: string, levels: number): string[] {
  if (!existsSync(folder))
    throw new InputError(`${missingPath(folder)}. \`earshot runs\` lists the runs that are here`);
  if (!statSync(folder).isDirectory()) return [];
  if (existsSync(join(folder, 'config.json'))) return [folder];
  if (levels === 0) return [];
  const names = readdirSync(folder).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return names.flatMap((name) => runsBelow(join(folder, name), levels - 1));
}

/** Those of them that are finished. @throws as `runsBelow` */
export function finishedBelow(folder: string, levels: number): string[] {
  return runsBelow(folder, levels).filter((run) => existsSync(join(run, 'result.json')));
}
