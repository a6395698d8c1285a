import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { InputError } from '../../src/errors.ts';
import { type PlainObject, parseOverride } from '../config/overrides.ts';
import { openExperiment, type RunOptions } from '../run/open-experiment.ts';
import { runInProcesses } from '../run/run-in-processes.ts';
import type { Trial } from '../run/trials.ts';
import { collect } from './collect.ts';
import { stageProgress } from './progress.ts';
import { Interrupted, type Terminal } from './terminal.ts';
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

export function trainCommand(terminal: Terminal): Command {
  return new Command('train')
    .description(
      'Run an experiment: train every variant with every seed, test it beside the baselines, print the table.',
    )
    .argument('<experiment>', 'YAML experiment file, such as experiments/recipes/quickstart.yaml')
    .option(
      '--data <path>',
      'thread file to run on; the same as --set data.threads=<path>, or data.train for a selector',
    )
    .option('--set <path=value>', 'change a setting, such as agent.imitation.alpha=0.5; may be repeated', collect, [])
    .option('--seeds <list>', 'seeds instead of those of the file, such as 1,2,3', integers)
    .option('--runs <folder>', 'where runs and their shared cache go', 'runs')
    .option('--jobs <count>', 'processes that share the runs, each with a budget of its own', positiveInteger, 1)
    .option('--resume', 'fail if there is nothing to go on with (going on is the default)')
    .option('--restart', 'remove earlier runs of this experiment and start anew')
    .option('--json', 'print the results as JSON instead of the table')
    .option('--share <index/of>', 'run every of-th trial only, without a report', share)
    .addHelpText(
      'after',
      `
A run that was cut off (Ctrl-C, kill, power) goes on from its last checkpoint when the same command is given again, to the
same result, bit for bit, on the same backend. Finished runs are read, not repeated.

A selector whose task models are language models has no dry run: what it asks depends on what its policies retain. Limit it with
--set budget.requests=<count>, and give the same command with a larger budget to go on; answers are kept in <runs>/cache.

Examples:
  earshot train experiments/recipes/quickstart.yaml
  earshot train experiments/recipes/pheme-cross-event.yaml --data pheme.jsonl.gz --jobs 2
  earshot train my.yaml --set agent.preset=published --seeds 1,2`,
    )
    .action((path: string, options: TrainOptions) => train(path, { ...options, terminal }));
}

async function train(path: string, options: TrainOptions & { terminal: Terminal }): Promise<void> {
  const overrides: PlainObject[] = [
    ...options.set.map(parseOverride),
    ...(options.seeds === undefined ? [] : [{ seeds: options.seeds }]),
  ];
  const { runs, data, terminal } = options;
  const { words, stdout, stderr } = terminal;
  const experiment = await openExperiment({ path, overrides, data, runs });
  const { name, trials } = experiment;
  const signal = terminal.interruptSignal();
  if (options.resume && experiment.results().length === 0 && !hasStarted(trials))
    throw new InputError(`--resume: no run of ${name} has begun in ${runs}; leave --resume out to start one`);

  if (options.jobs > 1 && trials.length > 1 && options.share === undefined) {
    const args = words.filter((word, i) => word !== '--json' && word !== '--jobs' && words[i - 1] !== '--jobs');
    await runInProcesses({
      jobs: Math.min(options.jobs, trials.length),
      child: ({ index, of }) => [launcher, ...args, '--share', `${index}/${of}`],
      signal,
    });
  } else {
    const { share = { index: 0, of: 1 }, restart = false } = options;
    const hooksFor: RunOptions['hooksFor'] = ({ variant, seed }, { index, total }) =>
      stageProgress(`[${index + 1}/${total}] ${variant}, seed ${seed}`, terminal);
    const onBackend: RunOptions['onBackend'] = ({ name, device }) =>
      void stderr.write(`earshot: backend ${name} (${device})\n`);
    await experiment.run({ share, restart, hooksFor, onBackend, signal });
    if (options.share !== undefined) return;
  }
  if (signal.aborted) throw new Interrupted('stopped');
  const report = experiment.writeReport(['earshot', ...words].join(' '));
  stdout.write(options.json ? `${JSON.stringify(experiment.results(), null, 2)}\n` : report);
  stderr.write(`\nRuns: ${runs}/${name}   Report: ${runs}/${name}/report.md\n`);
}

const launcher = fileURLToPath(new URL('./earshot.mjs', import.meta.url));

function hasStarted(trials: readonly Trial<unknown>[]): boolean {
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
