import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
    .option(
      '--out <file>',
      'where the page goes (default: report.html beside the runs); the charts go beside it as SVG',
    )
    .addHelpText(
      'after',
      `
The page shows macro-F1 against ER and calls, the training, where the agents stop, and every test thread post by post. It holds the
texts of the threads where their file can still be read, so mind who may see it. docs/how-to/read-a-report.md says how to read it.

A sweep's page has its table, the front, the heat map, the triangle, how much each option matters, and the verdict.

Examples:
  earshot report experiments/recipes/quickstart.yaml
  earshot report experiments/recipes/quickstart.yaml --html
  earshot report runs/quickstart/one-call/seed-1 --html --out one-call.html
  earshot report runs/ratio-pareto --html`,
    );
}

type Reporting = OptionsOf<typeof reportOptions> & { readonly terminal: Terminal };

async function reportFile(path: string, { runs, set, json, html, out, terminal }: Reporting): Promise<void> {
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
  const { report, results, writePage: write } = await writeReport(experiment, { command, variants });
  if (json) printJson(terminal, results);
  if (html || out !== undefined) stderr.write(`Page: ${await write(out)}\n`);
  else if (!json) stdout.write(report);
  if (finished < total) stderr.write(`\nearshot: ${total - finished} of ${total} runs are not finished yet\n`);
}

async function reportFolder(path: string, options: Reporting): Promise<void> {
  const { runs, set, json, html, out = join(path, 'report.html'), terminal } = options;
  const { stdout, stderr } = terminal;
  if (set.length > 0) throw new InputError(`--set ${set[0]} is for experiment files; ${path} is a folder of runs`);
  const [{ kindOf }, { findRuns }, { markdownOf }] = await Promise.all([
    import('../kinds/kinds.ts'),
    import('../kinds/report-runs.ts'),
    import('../report/document.ts'),
  ]);
  const found = findRuns(path);
  const report = await (await kindOf(found.kind)).report();
  const source = { ...found, command: commandLineOf(['report', path]), cache: join(runs, 'cache') };
  if (json) printJson(terminal, report.json(found.variants));
  if (html || options.out !== undefined) {
    const [{ variant }, ...others] = found.variants;
    const name = others.length === 0 ? `${found.name}: ${variant}` : found.name;
    writePage(out, await report.of({ ...source, name }).page());
    stderr.write(`Page: ${out}\n`);
  } else if (!json) stdout.write(markdownOf(report.of(source).document));
}

/** Writes the files of a sweep anew, from the trials that are finished. */
async function reportSweep(plan: SweepPlan, { runs, json, html, out, terminal }: Reporting): Promise<void> {
  const { stdout, stderr } = terminal;
  const [{ isSweepFolder, openSweepFolder }, { writeResults }] = await Promise.all([
    import('../sweep/sweep-folder.ts'),
    import('../sweep/write-results.ts'),
  ]);
  const path = join(runs, plan.name);
  if (!isSweepFolder(path))
    throw new InputError(`${path} holds no sweep; run it with \`earshot sweep\`, or say with --runs where it is`);
  const folder = await openSweepFolder(plan, { runs, restart: false });
  const page = html || out !== undefined ? (out ?? join(path, 'report.html')) : null;
  const results = await writeResults(plan, { folder, command: commandLineOf(['report', path]), page });
  if (json) printJson(terminal, results.json);
  if (page !== null) stderr.write(`Page: ${page}\n`);
  else if (!json) stdout.write(results.text);
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
