import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { InputError } from '../../src/errors.ts';
import { parseOverride } from '../config/overrides.ts';
import type { OpenedExperiment } from '../kinds/experiment-kind.ts';
import type { VariantRuns } from '../report/kind-report.ts';
import { type Block, screenOfAll, screenText } from '../report/report.ts';
import { isFinished } from '../run/trial.ts';
import { collect, commandLineOf, type OptionsOf } from './option-values.ts';
import { printJson, proseWidth, type Terminal } from './terminal.ts';

export function reportCommand(terminal: Terminal) {
  return reportOptions().action(async (path, options) => {
    const reporting = { ...options, terminal };
    if (!isFolder(path)) return reportFile(path, reporting);
    if (options.set.length > 0)
      throw new InputError(`--set ${options.set[0]} is for experiment files; ${path} is a folder of runs`);
    const { sweepIn } = await import('../runner/experiment-folder.ts');
    const sweep = await sweepIn(path, { runs: dirname(path) });
    return sweep === null ? reportFolder(path, reporting) : reportRuns(sweep, reporting, { command: ofFolder(path) });
  });
}

function ofFolder(path: string): string {
  return commandLineOf(['report', path]);
}

function reportOptions() {
  return new Command('report')
    .description(
      'Print the table of an experiment from its finished runs, or write its page, without running anything.',
    )
    .argument('<experiment>', 'YAML file of an experiment or a sweep, a run, or a folder such as runs/quickstart')
    .option('--runs <folder>', 'where the runs and the shared cache are', 'runs')
    .option('--set <path=value>', 'as given to train; may be repeated', collect, [])
    .option('--json', 'print the results as JSON instead of the table')
    .option('--html', 'write the results as a page: one file that opens in any browser, without a network')
    .option('--open', 'write the page and open it in the browser')
    .option(
      '--out <file>',
      'where the page goes (default: report.html beside the runs); the charts go beside it as SVG',
    )
    .addHelpText(
      'after',
      `
The page opens with the conclusion. It shows macro-F1 against posts read and queries, the training, where the agents stop, and every test
thread post by post. It holds the texts of the threads where their file can still be read: check who may see it.
docs/how-to/read-a-report.md explains it.

A sweep's page has its conclusion and table, the front, the heat map, the triangle, and how much each option matters.

Examples:
  earshot report experiments/recipes/quickstart.yaml
  earshot report experiments/recipes/quickstart.yaml --html
  earshot report runs/quickstart/one-query/seed-1 --html --out one-query.html
  earshot report runs/ratio-pareto --open`,
    );
}

type Reporting = OptionsOf<typeof reportOptions> & { readonly terminal: Terminal };

async function reportFile(path: string, options: Reporting): Promise<void> {
  const { runs, set, terminal } = options;
  const [{ openBesideOthers }, { finishedVariants, finishedWithAnySeed }, { folderOf }, { trialsOf }, { isSweep }] =
    await Promise.all([
      import('../runner/open-experiment.ts'),
      import('../runner/experiment-report.ts'),
      import('../runner/experiment-folder.ts'),
      import('../kinds/experiment-kind.ts'),
      import('../sweep/plan.ts'),
    ]);
  const overrides = set.map(parseOverride);
  const { experiment, others } = await openBesideOthers({ path, overrides, runs });
  const { name } = experiment;
  const seedsAreGiven = overrides.some((override) => 'seeds' in override);
  const variants =
    seedsAreGiven || isSweep(experiment) ? finishedVariants(experiment) : finishedWithAnySeed(experiment);
  const commandOf = (verb: string) => commandLineOf([verb, path], { set });
  const training = commandOf(isSweep(experiment) ? 'sweep' : 'train');
  if (variants.length === 0)
    throw new InputError(
      others === null
        ? `no run of ${name} is finished in ${runs}; run \`${training}\` first`
        : `no run of these settings is finished in ${runs} (that of ${others.name} differs: ${others.differences.join(', ')}); run \`${training}\` first, or report the folder ${folderOf({ runs, name: others.name })}`,
    );
  const all = trialsOf(experiment);
  const finished = all.filter(({ directory }) => isFinished(directory)).length;
  const isOfFile = variants.flatMap(({ directories }) => directories).length === finished;
  await reportRuns(experiment, options, { command: isOfFile ? training : commandOf('report'), variants });
  if (finished < all.length)
    terminal.stderr.write(`\nearshot: ${all.length - finished} of ${all.length} runs are not finished yet\n`);
}

/** Writes the report of finished runs beside them again, and shows it. */
async function reportRuns(
  experiment: OpenedExperiment,
  options: Reporting,
  of: { command: string; variants?: readonly VariantRuns[] },
): Promise<void> {
  const { writeReport } = await import('../runner/experiment-report.ts');
  const { whole, results, writePage } = await writeReport(experiment, of);
  await shown(options, { results, whole, page: () => writePage(options.out) });
}

async function reportFolder(path: string, options: Reporting): Promise<void> {
  const { runs, out = join(path, 'report.html') } = options;
  const [{ kindOf }, { findRuns }] = await Promise.all([
    import('../kinds/kinds.ts'),
    import('../kinds/report-runs.ts'),
  ]);
  const runFolders = findRuns(path);
  const reportOf = await (await kindOf(runFolders.kind)).report();
  const [{ variant }, ...others] = runFolders.variants;
  const name = others.length === 0 ? `${runFolders.name}: ${variant}` : runFolders.name;
  const { report, results } = reportOf({ ...runFolders, name, command: ofFolder(path), cache: join(runs, 'cache') });
  await shown(options, {
    results,
    whole: screenOfAll(report),
    async page() {
      const { pageOf, writePage } = await import('../report/page/page.ts');
      writePage(out, await pageOf(report, results));
      return out;
    },
  });
}

/** Prints a report, or says where its page is, and opens that if it is wanted. */
async function shown(
  options: Reporting,
  { results, whole, page }: { results: object; whole: readonly Block[]; page: () => Promise<string> },
): Promise<void> {
  const { html, out, open, json, terminal } = options;
  const isPage = html === true || open === true || out !== undefined;
  if (json) printJson(terminal, results);
  else if (!isPage) terminal.stdout.write(screenText(whole, { width: proseWidth(terminal) }));
  if (!isPage) return;
  const path = await page();
  terminal.stderr.write(`Page: ${path}\n`);
  if (open) await openFile(path);
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
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
