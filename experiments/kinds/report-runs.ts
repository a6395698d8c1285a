import { basename, dirname, resolve } from 'node:path';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256 } from '../../src/content-hash.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import { kindOfRun } from '../run/kind-of-run.ts';
import { runsBelow } from '../run/runs-below.ts';
import { isFinished } from '../run/trial.ts';

/**
 * The finished runs in the folder of a run, a variant or an experiment.
 * @throws InputError without a run, or with runs of several kinds
 */
export function findRuns(folder: string) {
  const directories = runsBelow(folder, 2).filter(isFinished);
  if (directories.length === 0)
    throw new InputError(
      `${folder} holds no finished run; give a run such as runs/quickstart/one-query/seed-1, the folder of an experiment, or its YAML file`,
    );
  const [kind, ...others] = new Set(directories.map((directory) => kindOfRun(RunDirectory.open(directory))));
  if (others.length > 0)
    throw new InputError(
      `${folder} holds runs of several kinds (${[kind, ...others].join(', ')}); give a folder with runs of one kind`,
    );
  const byVariant = groupBy(directories, (directory) => basename(dirname(resolve(directory))));
  for (const directories of byVariant.values()) refuseCopies(directories);
  const variants = Array.from(byVariant, ([variant, directories]) => ({ variant, directories }));
  return { kind, ...RunDirectory.open(directories[0]).readConfig(headSchema), variants };
}

const headSchema = z.object({ name: z.string(), description: z.string().default('') });

/** @throws InputError for a run and its copy, which would count as two seeds */
function refuseCopies(directories: readonly string[]): void {
  const earlier = new Map<string, string>();
  for (const directory of directories) {
    const run = RunDirectory.open(directory);
    const result = sha256([run.readConfig(z.unknown()), run.readResult()]);
    const other = earlier.get(result);
    if (other !== undefined)
      throw new InputError(
        `${directory} is a copy of ${other}, and would count as a further seed; move one of them elsewhere`,
      );
    earlier.set(result, directory);
  }
}
