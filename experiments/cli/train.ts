import { existsSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { counted } from '../../src/counted.ts';
import { InputError } from '../../src/errors.ts';
import type { PlainObject } from '../config/overrides.ts';
import type { OpenedExperiment } from '../kinds/open-experiment.ts';
import { screenText, wrapped } from '../report/narrow-table.ts';
import { maxWaitMsOf, maxWaitOption } from './budget-options.ts';
import { collect, commandLineOf, type OptionsOf, positiveInteger, seeds as seedsOf } from './option-values.ts';
import { printResult, proseWidth, type Terminal } from './terminal.ts';

const defaultRuns = 'runs';

export function trainCommand(terminal: Terminal) {
  return trainOptions().action((path, options) => train(path, { ...options, terminal }));
}

type TrainOptions = OptionsOf<typeof trainOptions>;

function trainOptions() {
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
    .option('--name <name>', 'name of the runs instead of that of the file')
    .option('--seeds <list>', 'seeds instead of those of the file, such as 1,2,3', seedsOf)
    .option('--variants <list>', 'only these variants of the file, such as paper,one-query', names)
    .option('--runs <folder>', 'where runs and their shared cache go', defaultRuns)
    .option(
      '--jobs <count>',
      'processes that share the runs (default: one for each processor core, at most one for each run; just one on a GPU, and with language models, because limits of rates hold for one process)',
      positiveInteger,
    )
    .addOption(maxWaitOption)
    .option('--resume', 'fail if there is nothing to go on with (going on is the default)')
    .option('--restart', 'remove earlier runs of this experiment and start again')
    .option('--json', 'print the results as JSON instead of the table')
    .option('--no-html', 'leave out the page of the results, report.html')
    .addHelpText(
      'after',
      `
A run that was cut off (Ctrl-C, kill, power) goes on from its last checkpoint when the same command is given again, to the
same result, bit for bit, on the same backend. Finished runs are read, not repeated.

A selector whose task models are language models has no dry run: its queries depend on what its policies retain. Limit it with
--set budget.requests=<count>. To go on, give the same command with a larger budget; answers are kept in <runs>/cache.

Runs with other settings or other threads stay as they are. The new ones get the names <name>-2, <name>-3, … unless you give --name or
--restart. If the detector or the annotations changed, the command stops with an error.

Examples:
  earshot train experiments/recipes/quickstart.yaml
  earshot train experiments/recipes/pheme-leave-one-event-out.yaml --data pheme.jsonl.gz --jobs 2
  earshot train my.yaml --seeds 1,2,3,4,5
  earshot train my.yaml --set agent.algorithm=settled --name my-settled --seeds 1,2`,
    );
}

async function train(path: string, options: TrainOptions & { terminal: Terminal }): Promise<void> {
  const [
    { removeRun },
    { parseOverride },
    opened,
    { changedThreads, noteThreads, refuseMissingThreads },
    { checkThreads },
    { jobsFor, trainAll },
  ] = await Promise.all([
    import('../../checkpoints/run-lock.ts'),
    import('../config/overrides.ts'),
    import('../kinds/open-experiment.ts'),
    import('../kinds/thread-hashes.ts'),
    import('../kinds/check-threads.ts'),
    import('./train-all.ts'),
  ]);
  const overrides: PlainObject[] = [
    ...options.set.map(parseOverride),
    ...(options.seeds === undefined ? [] : [{ seeds: options.seeds }]),
    ...(options.name === undefined ? [] : [{ name: options.name }]),
  ];
  const { runs, data, restart = false, terminal } = options;
  const { stderr } = terminal;
  const source = { path, overrides, variants: options.variants, data, runs };
  // A name that was given is meant, and --restart replaces what is there.
  const { experiment, others } =
    options.name === undefined && !restart
      ? await opened.openBesideOthers(source)
      : { experiment: await opened.openExperiment(source), others: null };
  const { name, trials } = experiment;
  const left = restart ? trials.length : trials.length - opened.finishedTrials(experiment).length;
  if (left > 0) refuseMissingThreads(experiment);
  if (left === trials.length) await checkThreads(experiment.variants);
  if (others !== null)
    stderr.write(
      `${wrapped(`${runs}/${others.name} holds other runs: ${others.differences.join(', ')}. These stand beside them, as ${name}; --restart would replace the others.`, { width: proseWidth(terminal) })}\n\n`,
    );
  const changed = restart ? [] : await changedThreads(experiment);
  if (changed.length > 0)
    throw new InputError(
      `${changed.join(', ')} was changed since runs of ${runs}/${name} read it; restore it, give another --name, or --restart to replace them`,
    );
  const signal = terminal.interruptSignal();
  if (options.resume && !trials.some(({ directory }) => existsSync(`${directory}/config.json`)))
    throw new InputError(`--resume: no run of ${name} has begun in ${runs}; leave --resume out to start one`);

  if (restart) for (const { directory } of trials) await removeRun(directory);
  await noteThreads(experiment);
  const jobs = await jobsFor(experiment, options);
  stderr.write(opening(experiment, { left, jobs, width: proseWidth(terminal) }));
  await trainAll(experiment, { jobs, maxWaitMs: maxWaitMsOf(options), terminal, signal });
  const command = commandLineOf(['train', path], {
    data,
    set: options.set,
    name: others === null ? options.name : name,
    seeds: options.seeds?.join(','),
    variants: options.variants?.join(','),
    runs: runs === defaultRuns ? undefined : runs,
  });
  const { summary, results, next, recommended, writePage } = await opened.writeReport(experiment, { command });
  const text = screenText(summary, { width: proseWidth(terminal) });
  printResult(terminal, { json: options.json, value: results, text });
  const page = options.html ? `   Page: ${await writePage()}` : '';
  // Last, so that a policy which cannot be exported hides no result.
  const policy = await opened.shipPolicy(experiment, { recommended, isNew: left > 0 });
  const shipped = policy === null ? '' : `   Policy: ${policy}`;
  stderr.write(
    `\nRuns: ${runs}/${name}${shipped}   Report: ${runs}/${name}/report.md${page}\n${options.json ? '' : nextSteps(next)}`,
  );
}

/** What will happen: said before anything does. Nothing where all is there already. */
function opening(
  { name, description, runs, trials }: OpenedExperiment,
  { left, jobs, width }: { left: number; jobs: number; width: number },
): string {
  if (left === 0) return '';
  const all = left === trials.length ? `${counted(left, 'run')}` : `${left} of ${counted(trials.length, 'run')}`;
  const where = `${name}: ${all} in ${jobs === 1 ? 'this process' : `${jobs} processes`}, into ${runs}/${name}; then a table and a report. Ctrl-C saves, and the same command goes on.`;
  return [
    ...(description.trim() === '' ? [] : [wrapped(description.trim(), { width })]),
    wrapped(where, { width }),
    '',
    '',
  ].join('\n');
}

/** What a reader who has seen the table may want next. */
function nextSteps(commands: readonly string[]): string {
  return commands.length === 0 ? '' : `Next: ${commands.join('\n      ')}\n`;
}

function names(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}
