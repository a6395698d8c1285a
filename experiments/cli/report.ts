import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { InputError } from '../../src/errors.ts';
import { parseOverride } from '../config/overrides.ts';
import { writePage } from '../report/page/write-page.ts';
import { openExperiment } from '../run/open-experiment.ts';
import { findRuns } from '../run/report-runs.ts';
import { collect } from './option-values.ts';
import { quoted } from './shell-words.ts';
import type { Terminal } from './terminal.ts';

interface ReportOptions {
  runs: string;
  set: string[];
  json?: boolean;
  html?: boolean;
  out?: string;
}

export function reportCommand(terminal: Terminal): Command {
  return new Command('report')
    .description(
      'Print the table of an experiment from its finished runs, or write its page, without running anything.',
    )
    .argument('<experiment>', 'YAML experiment file, a run, or a folder of runs such as runs/quickstart')
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
texts of the threads where their file can still be read, so mind who may see it. docs/reading-a-report.md says how to read it.

Examples:
  earshot report experiments/recipes/quickstart.yaml
  earshot report experiments/recipes/quickstart.yaml --html
  earshot report runs/quickstart/paper/seed-1 --html --out paper.html`,
    )
    .action((path: string, options: ReportOptions) =>
      isFolder(path) ? reportFolder(path, { ...options, terminal }) : reportFile(path, { ...options, terminal }),
    );
}

type Reporting = ReportOptions & { readonly terminal: Terminal };

async function reportFile(path: string, { runs, set, json, html, out, terminal }: Reporting): Promise<void> {
  const { stdout, stderr } = terminal;
  const experiment = await openExperiment({ path, overrides: set.map(parseOverride), runs });
  const finished = experiment.finished().length;
  if (finished === 0)
    throw new InputError(`no run of ${experiment.name} is finished in ${runs}; run \`earshot train ${path}\` first`);
  const total = experiment.trials.length;
  const command = ['earshot', 'train', path, ...set.flatMap((each) => ['--set', each])].map(quoted).join(' ');
  const { report } = experiment.writeReport(command);
  if (json) stdout.write(`${JSON.stringify(experiment.results(), null, 2)}\n`);
  if (html || out !== undefined) stderr.write(`Page: ${await experiment.writePage({ command, path: out })}\n`);
  else if (!json) stdout.write(report);
  if (finished < total) stderr.write(`\nearshot: ${total - finished} of ${total} runs are not finished yet\n`);
}

async function reportFolder(path: string, options: Reporting): Promise<void> {
  const { runs, set, json, html, out = join(path, 'report.html'), terminal } = options;
  const { stdout, stderr } = terminal;
  if (set.length > 0) throw new InputError(`--set ${set[0]} is for experiment files; ${path} is a folder of runs`);
  const found = findRuns(path);
  const command = ['earshot', 'report', path].map(quoted).join(' ');
  if (json) stdout.write(`${JSON.stringify(found.json(), null, 2)}\n`);
  if (html || options.out !== undefined) {
    writePage(out, await found.page({ command, cache: join(runs, 'cache') }));
    stderr.write(`Page: ${out}\n`);
  } else if (!json) stdout.write(found.text(command));
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
