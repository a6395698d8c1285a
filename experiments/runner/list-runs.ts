import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { readJsonFile } from '../../src/json-file.ts';
import { missingPathWith } from '../../src/missing-path.ts';
import { failureIn } from '../run/failure-file.ts';
import { headlineOf } from '../run/failures.ts';
import { trainingsBelow } from '../run/runs-below.ts';
import { isFinished } from '../run/trial.ts';

/** The runs of an experiment or a sweep, and what they came to. */
export interface ListedRuns {
  readonly name: string;
  readonly folder: string;
  readonly finished: number;
  readonly failed: number;
  /** Begun, and neither finished nor failed. */
  readonly unfinished: number;
  /** Why the first of those that failed did; null where none has. */
  readonly failure: string | null;
  /** Null before the first report, and where the runs have none. */
  readonly conclusion: string | null;
  /** The run to go on with; null where there is none. */
  readonly recommended: string | null;
}

const reportSchema = z.looseObject({
  conclusion: z.string(),
  // Of a sweep it is a setting.
  recommended: z.union([z.looseObject({ run: z.string() }), z.string()]).nullish(),
});

/**
 * Lists a folder of runs: an entry for each folder below it that holds some, in the order of their names. The conclusion is
 * that of the last report; runs that were made since are counted, and not in it.
 * @throws InputError where the folder is missing, or a report is damaged
 */
export function listRuns(runs: string): ListedRuns[] {
  if (!existsSync(runs) || !statSync(runs).isDirectory())
    throw new InputError(
      missingPathWith('Train an experiment first, or give the folder of its runs', runs, (path) =>
        statSync(path).isDirectory(),
      ),
    );
  const names = readdirSync(runs).filter((name) => statSync(join(runs, name)).isDirectory());
  return names
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap((name): ListedRuns[] => {
      const folder = join(runs, name);
      const directories = trainingsBelow(folder, 2);
      if (directories.length === 0) return [];
      const finished = directories.filter(isFinished).length;
      const failures = directories.flatMap((run) => failureIn(run) ?? []);
      const path = join(folder, 'report.json');
      const report = existsSync(path) ? readJsonFile(path, reportSchema) : null;
      return [
        {
          name,
          folder,
          finished,
          failed: failures.length,
          unfinished: directories.length - finished - failures.length,
          failure: failures.length === 0 ? null : headlineOf(failures[0]),
          conclusion: report?.conclusion ?? null,
          recommended: runBelow(folder, typeof report?.recommended === 'string' ? undefined : report?.recommended?.run),
        },
      ];
    });
}

/** Where a run that a report names lies now: runs may have been moved since. Null where it is gone. */
function runBelow(folder: string, reported: string | undefined): string | null {
  if (reported === undefined) return null;
  const run = join(folder, basename(dirname(reported)), basename(reported));
  return existsSync(run) ? run : null;
}
