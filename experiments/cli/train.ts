import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { InputError } from '../../src/errors.ts';
import { loadExperiment } from '../experiment.ts';
import { type PlainObject, parseOverride } from '../overrides.ts';
import { finishedResults, runInProcesses, runTrials, type Trial, trialsOf, writeReport } from '../run-experiment.ts';
import { collect } from './collect.ts';
import { interruptSignal } from './interrupt.ts';
import { stageProgress } from './progress.ts';
import { positiveInteger } from './whole-number.ts';

interface TrainOptions {
  data?: string;
  set: string[];
  seeds?: number[];
  runs: string;
  jobs: number;
  restart?: boolean;
  resume?: boolean;
  json?: boolean;
  share?: { index: number; of: number };
}

export function trainCommand(): Command {
  return new Command('train')
    .description(
      'Run an experiment: train every variant with every seed, test it beside the baselines, print the table.',
    )
    .argument('<experiment>', 'YAML experiment file, such as experiments/recipes/quickstart.yaml')
    .option('--data <path>', 'thread file to run on; the same as --set data.threads=<path>')
    .option('--set <path=value>', 'change a setting, such as agent.gail.alpha=0.5; may be repeated', collect, [])
    .option('--seeds <list>', 'seeds instead of those of the file, such as 1,2,3', integers)
    .option('--runs <folder>', 'where runs and their shared cache go', 'runs')
    .option('--jobs <count>', 'processes that share the runs', positiveInteger, 1)
    .option('--resume', 'fail if there is nothing to go on with (going on is the default)')
    .option('--restart', 'remove earlier runs of this experiment and start anew')
    .option('--json', 'print the results as JSON instead of the table')
    .option('--share <index/of>', 'run every of-th trial only, without a report', share)
    .addHelpText(
      'after',
      `
A run that was cut off (Ctrl-C, kill, power) goes on from its last checkpoint when the same command is given again, to the
same result, bit for bit, on the same backend. Finished runs are read, not repeated.

Examples:
  earshot train experiments/recipes/quickstart.yaml
  earshot train experiments/recipes/pheme-cross-event.yaml --data pheme.jsonl.gz --jobs 2
  earshot train my.yaml --set agent.preset=published --seeds 1,2`,
    )
    .action(train);
}

async function train(path: string, options: TrainOptions): Promise<void> {
  const overrides: PlainObject[] = [
    ...options.set.map(parseOverride),
    ...(options.data === undefined ? [] : [{ data: { threads: options.data } }]),
    ...(options.seeds === undefined ? [] : [{ seeds: options.seeds }]),
  ];
  const file = await loadExperiment(path, overrides);
  const trials = trialsOf(file, options.runs);
  const signal = interruptSignal();
  if (options.resume && finishedResults(trials).length === 0 && !hasStarted(trials))
    throw new InputError(
      `--resume: no run of ${file.name} has begun in ${options.runs}; leave --resume out to start one`,
    );

  if (options.jobs > 1 && trials.length > 1 && options.share === undefined) {
    const args = process.argv
      .slice(2)
      .filter((arg, i, all) => arg !== '--json' && arg !== '--jobs' && all[i - 1] !== '--jobs');
    await runInProcesses({
      jobs: Math.min(options.jobs, trials.length),
      child: ({ index, of }) => [launcher, ...args, '--share', `${index}/${of}`],
      signal,
    });
  } else {
    const { index, of } = options.share ?? { index: 0, of: 1 };
    await runTrials(
      trials.filter((_, trial) => trial % of === index),
      { runs: options.runs, restart: options.restart ?? false, hooksFor: terminalHooks, onBackend: announce, signal },
    );
    if (options.share !== undefined) return;
  }
  if (signal.aborted) {
    process.stderr.write(`earshot: stopped; give the same command again to go on\n`);
    process.exitCode = 130;
    return;
  }
  const report = writeReport(file, { trials, runs: options.runs, command: commandLine() });
  process.stdout.write(options.json ? `${JSON.stringify(finishedResults(trials), null, 2)}\n` : report);
  process.stderr.write(`\nRuns: ${options.runs}/${file.name}   Report: ${options.runs}/${file.name}/report.md\n`);
}

const launcher = fileURLToPath(new URL('./earshot.mjs', import.meta.url));

/** Progress on the terminal: one bar a stage of a trial. */
function terminalHooks(trial: Trial, { index, total }: { index: number; total: number }) {
  return stageProgress(`[${index + 1}/${total}] ${trial.variant}, seed ${trial.seed}`);
}

function announce({ name, device }: { name: string; device: string }): void {
  process.stderr.write(`earshot: backend ${name} (${device})\n`);
}

function commandLine(): string {
  return ['earshot', ...process.argv.slice(2)].join(' ');
}

function hasStarted(trials: readonly Trial[]): boolean {
  return trials.some(({ directory }) => existsSync(`${directory}/config.json`));
}

function integers(text: string): number[] {
  const parts = text.split(',');
  if (parts.some((part) => part.trim() === '' || !Number.isInteger(Number(part))))
    throw new InvalidArgumentError('It must be a list such as 1,2,3.');
  return parts.map(Number);
}

function share(text: string): { index: number; of: number } {
  const [index, of] = text.split('/').map(Number);
  if (!(Number.isInteger(index) && Number.isInteger(of) && index >= 0 && index < of))
    throw new InvalidArgumentError(`${text} is not of the form 0/2.`);
  return { index, of };
}
