import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256 } from '../../src/content-hash.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import { parseOverride } from '../config/overrides.ts';
import { trialsOf } from '../kinds/experiment-kind.ts';
import { kindOf } from '../kinds/kinds.ts';
import { pageOf, writePage } from '../report/page/page.ts';
import { type Block, screenOfAll, screenText } from '../report/report.ts';
import { kindOfRun } from '../run/kind-of-run.ts';
import { runsBelow } from '../run/runs-below.ts';
import { isFinished } from '../run/trial.ts';
import { folderOf, sweepIn } from '../runner/experiment-folder.ts';
import { writeReport } from '../runner/experiment-report.ts';
import { openBesideOthers } from '../runner/open-experiment.ts';
import { isSweep } from '../sweep/plan.ts';
import { commandLineOf } from './option-values.ts';
import { printJson, proseWidth, type Terminal } from './terminal.ts';

interface ReportOptions {
  readonly runs: string;
  readonly set: readonly string[];
  readonly json?: true | undefined;
  readonly html?: true | undefined;
  readonly open?: true | undefined;
  readonly out?: string | undefined;
  readonly terminal: Terminal;
}

/** A report as a terminal shows it and as `--json` prints it, and what writes its page and returns where that is. */
interface Shown {
  readonly whole: readonly Block[];
  readonly results: object;
  writePage(path?: string): Promise<string>;
}

/** Prints the report of finished runs, or says where its page is, and opens that if it is wanted. */
export async function showReport(path: string, options: ReportOptions): Promise<void> {
  const { html, out, open, json, set, terminal } = options;
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  if (isFolder && set.length > 0)
    throw new InputError(`--set ${set[0]} is for experiment files; ${path} is a folder of runs`);
  const { whole, results, writePage: write } = await (isFolder ? ofFolder(path, options) : ofFile(path, options));
  const isPage = html === true || open === true || out !== undefined;
  if (json) printJson(terminal, results);
  else if (!isPage) terminal.stdout.write(screenText(whole, { width: proseWidth(terminal) }));
  if (!isPage) return;
  const page = await write(out);
  terminal.stderr.write(`Page: ${page}\n`);
  if (open) await openFile(page);
}

async function ofFile(path: string, options: ReportOptions): Promise<Shown> {
  const { runs, set, terminal } = options;
  const overrides = set.map(parseOverride);
  const { experiment, others } = await openBesideOthers({ path, overrides, runs });
  const { name } = experiment;
  const training = commandLineOf([isSweep(experiment) ? 'sweep' : 'train', path], { set });
  const all = trialsOf(experiment);
  const finished = all.filter(({ directory }) => isFinished(directory)).length;
  if (finished === 0)
    throw new InputError(
      others === null
        ? `no run of ${name} is finished in ${runs}; run \`${training}\` first`
        : `no run of these settings is finished in ${runs} (that of ${others.name} differs: ${others.differences.join(', ')}); run \`${training}\` first, or report the folder ${folderOf({ runs, name: others.name })}`,
    );
  if (finished < all.length)
    terminal.stderr.write(`\nearshot: ${all.length - finished} of ${all.length} runs are not finished yet\n`);
  return writeReport(experiment, { command: training });
}

/** Of a sweep with its tables; the files beside other runs stay as they are. */
async function ofFolder(path: string, { runs }: ReportOptions): Promise<Shown> {
  const command = commandLineOf(['report', path]);
  const sweep = await sweepIn(path, { runs: dirname(path) });
  if (sweep !== null) return writeReport(sweep, { command });
  const runFolders = findRuns(path);
  const reportOf = await (await kindOf(runFolders.kind)).report();
  const [{ variant }, ...others] = runFolders.variants;
  const name = others.length === 0 ? `${runFolders.name}: ${variant}` : runFolders.name;
  const { report, results } = reportOf({ ...runFolders, name, command, cache: join(runs, 'cache') });
  return {
    ...{ whole: screenOfAll(report), results },
    async writePage(page = join(path, 'report.html')) {
      writePage(page, await pageOf(report, results));
      return page;
    },
  };
}

/**
 * The finished runs in the folder of a run, a variant or an experiment.
 * @throws InputError without a run, or with runs of several kinds
 */
function findRuns(folder: string) {
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

const openers: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/**
 * Opens a file with the program that the system has for it.
 * @throws InputError where there is none
 */
async function openFile(path: string): Promise<void> {
  const [program, ...words] = openers[process.platform] ?? ['xdg-open'];
  await new Promise<void>((done, failed) => {
    const child = spawn(program, [...words, resolve(path)], { stdio: 'ignore', detached: true });
    child.on('error', () =>
      failed(new InputError(`${program}, which opens files here, cannot be run; open ${path} yourself`)),
    );
    child.on('spawn', () => {
      child.unref();
      done();
    });
  });
}
