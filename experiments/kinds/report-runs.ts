import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import type { ExperimentHead } from '../config/experiment-file.ts';
import type { Page } from '../report/page/page.ts';
import { runKind } from '../run/run-kind.ts';
import type { ExperimentKind } from './experiment-kind.ts';
import { selectorKind } from './selector-kind.ts';
import { stopAgentKind } from './stop-agent-kind.ts';

/** Finished runs that were found in a folder, ready to be shown. */
export interface FoundRuns {
  readonly name: string;
  /** The table in Markdown. */
  text(command: string): string;
  json(): unknown;
  page(options: { command: string; cache: string }): Promise<Page>;
}

/**
 * The finished runs of a folder: a run, a folder of seeds, or that of a whole experiment.
 * @throws InputError where there is none, or runs of both kinds
 */
export function findRuns(folder: string): FoundRuns {
  const directories = runsBelow(folder, 2);
  if (directories.length === 0)
    throw new InputError(
      `${folder} holds no finished run; give a run such as runs/quickstart/paper/seed-1, the folder of an experiment, or its YAML file`,
    );
  const kinds = new Set(directories.map((directory) => runKind(RunDirectory.open(directory))));
  if (kinds.size > 1)
    throw new InputError(`${folder} holds stop agents and selectors; give a folder with runs of one kind`);
  return kinds.has('selector') ? found(selectorKind, directories) : found(stopAgentKind, directories);
}

function found<Experiment extends ExperimentHead, Result>(
  kind: ExperimentKind<Experiment, Result>,
  directories: readonly string[],
): FoundRuns {
  const { name, description } = RunDirectory.open(directories[0]).readConfig(headSchema);
  const byVariant = groupBy(directories, (directory) => basename(dirname(resolve(directory))));
  const variants = Array.from(byVariant, ([variant, own]) => ({ variant, directories: own }));
  const results = <T>(read: (run: RunDirectory) => T) =>
    variants.map(({ variant, directories: own }) => ({
      variant,
      trials: own.map((path) => read(RunDirectory.open(path))),
    }));
  return {
    name,
    text: (command) => kind.render({ name, description, command, results: results(kind.readResult) }),
    json: () => results(kind.readJson),
    page: ({ command, cache }) =>
      kind.page({
        name: variants.length === 1 ? `${name}: ${variants[0].variant}` : name,
        description,
        command,
        variants,
        cache,
      }),
  };
}

const headSchema = z.looseObject({ name: z.string(), description: z.string().default('') });

/** Finished runs in a folder and at most so many levels below it, in the order of their names. */
function runsBelow(folder: string, levels: number): string[] {
  if (!existsSync(folder)) throw new InputError(`there is no ${folder}; give an experiment file, or a folder of runs`);
  if (!statSync(folder).isDirectory()) return [];
  if (existsSync(join(folder, 'config.json'))) return existsSync(join(folder, 'result.json')) ? [folder] : [];
  if (levels === 0) return [];
  const names = readdirSync(folder).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return names
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isDirectory())
    .flatMap((path) => runsBelow(path, levels - 1));
}
