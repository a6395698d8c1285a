import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { InputError } from '../../src/errors.ts';
import { readExperimentYaml } from '../config/experiment-file.ts';
import { parseOverride } from '../config/overrides.ts';
import { writePage } from '../report/page/write-page.ts';
import type { SweepPlan } from '../sweep/plan.ts';
import { collect, commandLineOf, type OptionsOf } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

export function reportCommand(terminal: Terminal) {
  return reportOptions().action(async (path, options) => {
    const reporting = { ...options, terminal };
    const { isSweepFolder, planOfFolder } = await import('../sweep/sweep-folder.ts');
    if (isSweepFolder(path)) return reportSweep(await planOfFolder(path), { ...reporting, runs: dirname(path) });
    if (isFolder(path)) return reportFolder(path, reporting);
    const { kind } = await readExperimentYaml(path);
    if (kind !== 'sweep') return reportFile(path, reporting);
    const [{ planSweep }, { loadSweepFile }] = await Promise.all([
      import('../sweep/plan.ts'),
      import('../sweep/sweep-file.ts'),
    ]);
    const overrides = options.set.map(parseOverride);
    return reportSweep(await planSweep(await loadSweepFile(path, { overrides })), reporting);
  });
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
  const { runs, set, json, out, terminal } = options;
  const { stdout, stderr } = terminal;
  const { finishedTrials, finishedVariants, finishedWithAnySeed, openBesideOthers, writeReport } = await import(
    '../kinds/open-experiment.ts'
  );
  const overrides = set.map(parseOverride);
  const { experiment, others } = await openBesideOthers({ path, overrides, runs });
  const seedsAreGiven = overrides.some((override) => 'seeds' in override);
  const variants = seedsAreGiven ? finishedVariants(experiment) : finishedWithAnySeed(experiment);
  const commandOf = (verb: 'train' | 'report') => commandLineOf([verb, path], { set });
  if (variants.length === 0)
    throw new InputError(
      others === null
        ? `no run of ${experiment.name} is finished in ${runs}; run \`${commandOf('train')}\` first`
        : `no run of these settings is finished in ${runs} (that of ${others.name} differs: ${others.differences.join(', ')}); run \`${commandOf('train')}\` first, or report the folder ${join(runs, others.name)}`,
    );
  const finished = finishedTrials(experiment).length;
  const total = experiment.trials.length;
  const isOfFile = variants.flatMap(({ directories }) => directories).length === finished;
  const command = commandOf(isOfFile ? 'train' : 'report');
  const { text, results, writePage: write } = await writeReport(experiment, { command, variants });
  if (json) printJson(terminal, results);
  if (isPage(options)) await shownPage(await write(out), options);
  else if (!json) stdout.write(text);
  if (finished < total) stderr.write(`\nearshot: ${total - finished} of ${total} runs are not finished yet\n`);
}

async function reportFolder(path: string, options: Reporting): Promise<void> {
  const { runs, set, json, out = join(path, 'report.html'), terminal } = options;
  const { stdout } = terminal;
  if (set.length > 0) throw new InputError(`--set ${set[0]} is for experiment files; ${path} is a folder of runs`);
  const [{ kindOf }, { findRuns }, { markdownOf }] = await Promise.all([
    import('../kinds/kinds.ts'),
    import('../kinds/report-runs.ts'),
    import('../report/report.ts'),
  ]);
  const found = findRuns(path);
  const reportOf = await (await kindOf(found.kind)).report();
  const [{ variant }, ...others] = found.variants;
  const name = others.length === 0 ? `${found.name}: ${variant}` : found.name;
  const command = commandLineOf(['report', path]);
  const { report, results } = reportOf({ ...found, name, command, cache: join(runs, 'cache') });
  if (json) printJson(terminal, results);
  if (isPage(options)) {
    const { pageOf } = await import('../report/page/page.ts');
    writePage(out, await pageOf(report, results));
    await shownPage(out, options);
  } else if (!json) stdout.write(markdownOf(report));
}

function isPage({ html, out, open }: Reporting): boolean {
  return html === true || open === true || out !== undefined;
}

/** Reports where a page is, and opens it if that is wanted. */
async function shownPage(path: string, { open, terminal }: Reporting): Promise<void> {
  terminal.stderr.write(`Page: ${path}\n`);
  if (open) await openFile(path);
}

/** Writes the files of a sweep again, from the trials that are finished. */
async function reportSweep(plan: SweepPlan, options: Reporting): Promise<void> {
  const { runs, json, out, terminal } = options;
  const { stdout } = terminal;
  const [{ isSweepFolder, openSweepFolder }, { writeResults }] = await Promise.all([
    import('../sweep/sweep-folder.ts'),
    import('../sweep/write-results.ts'),
  ]);
  const path = join(runs, plan.name);
  if (!isSweepFolder(path))
    throw new InputError(`${path} holds no sweep; run it with \`earshot sweep\`, or say with --runs where it is`);
  const folder = await openSweepFolder(plan, { runs, restart: false });
  const page = isPage(options) ? (out ?? join(path, 'report.html')) : null;
  const results = await writeResults(plan, { folder, command: commandLineOf(['report', path]), page });
  if (json) printJson(terminal, results.json);
  if (page !== null) await shownPage(page, options);
  else if (!json) stdout.write(results.text);
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
