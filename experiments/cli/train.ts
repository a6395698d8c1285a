import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError, Option } from 'commander';
import { counted } from '../../src/counted.ts';
import { InputError } from '../../src/errors.ts';
import type { PlainObject } from '../config/overrides.ts';
import type { Trial } from '../kinds/experiment-kind.ts';
import type { OpenedExperiment, RunOptions } from '../kinds/open-experiment.ts';
import { wrapped } from '../report/narrow-table.ts';
import type { Programs } from '../run/programs.ts';
import { hasParent, runInProcesses, tellParent, type WatchedWork, watchedByParent } from '../run/run-in-processes.ts';
import type { LiveLines } from './live-lines.ts';
import { collect, indexOfShares, positiveInteger } from './option-values.ts';
import { quoted } from './shell-words.ts';
import { hasScreen, Interrupted, proseWidth, ReportedElsewhere, type Terminal } from './terminal.ts';

const defaultRuns = 'runs';

interface TrainOptions {
  data?: string;
  set: string[];
  seeds?: number[];
  variants?: string[];
  runs: string;
  jobs?: number;
  population?: number;
  restart?: boolean;
  resume?: boolean;
  json?: boolean;
  html: boolean;
  share?: { index: number; of: number };
  watched?: true;
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
    .option('--variants <list>', 'only these variants of the file, such as paper,one-call', names)
    .option('--runs <folder>', 'where runs and their shared cache go', defaultRuns)
    .option(
      '--jobs <count>',
      'processes that share the runs (default: one for each processor core, at most one for each run; just one on a GPU, and with language models, because a budget holds for one process)',
      positiveInteger,
    )
    .option(
      '--population <count>',
      'runs of the same shape (they differ in seed, weights, learning rates or data) trained in one program, in lockstep: split where memory is short. The numbers are the same, on wasm and cpu to the bit (default: 1 on wasm and cpu, 8 on tensorflow, 32 on a GPU; `earshot doctor` says what pays)',
      positiveInteger,
    )
    .option('--resume', 'fail if there is nothing to go on with (going on is the default)')
    .option('--restart', 'remove earlier runs of this experiment and start anew')
    .option('--json', 'print the results as JSON instead of the table')
    .option('--no-html', 'leave out the page of the results, report.html')
    .option('--share <index/of>', 'run only every of-th trial, as a worker of another process', indexOfShares)
    .addOption(new Option('--watched', 'as a worker: tell the other process how the work stands').hideHelp())
    .addHelpText(
      'after',
      `
A run that was cut off (Ctrl-C, kill, power) goes on from its last checkpoint when the same command is given again, to the
same result, bit for bit, on the same backend. Finished runs are read, not repeated.

A selector whose task models are language models has no dry run: what it asks depends on what its policies retain. Limit it with
--set budget.requests=<count>. To go on, give the same command with a larger budget; answers are kept in <runs>/cache.

A finished run is kept only while all that shaped it stays the same: settings, threads, detector, annotations. Otherwise the
command stops and says what differs; --restart then trains anew.

Examples:
  earshot train experiments/recipes/quickstart.yaml
  earshot train experiments/recipes/pheme-cross-event.yaml --data pheme.jsonl.gz --jobs 2
  earshot train my.yaml --set agent.preset=published --seeds 1,2`,
    )
    .action((path: string, options: TrainOptions) => train(path, { ...options, terminal }));
}

async function train(path: string, options: TrainOptions & { terminal: Terminal }): Promise<void> {
  const [{ parseOverride }, { openExperiment }, { stageProgress, watchedLines }] = await Promise.all([
    import('../config/overrides.ts'),
    import('../kinds/open-experiment.ts'),
    import('./progress.ts'),
  ]);
  const overrides: PlainObject[] = [
    ...options.set.map(parseOverride),
    ...(options.seeds === undefined ? [] : [{ seeds: options.seeds }]),
  ];
  const { runs, data, terminal } = options;
  const { stdout, stderr } = terminal;
  const experiment = await openExperiment({ path, overrides, variants: options.variants, data, runs });
  const { name, trials } = experiment;
  const signal = terminal.interruptSignal(options.share !== undefined && hasParent() ? null : undefined);
  if (options.resume && !hasStarted(trials))
    throw new InputError(`--resume: no run of ${name} has begun in ${runs}; leave --resume out to start one`);

  const { jobs, population } = await programsOf(experiment, options);
  if (options.share === undefined)
    stderr.write(opening(experiment, { jobs, runs, restart: options.restart ?? false, width: proseWidth(terminal) }));
  if (jobs > 1) {
    const words = trainingWords(path, { ...options, population });
    const worker = [launcher, ...words, ...(options.restart ? ['--restart'] : [])];
    const lines = hasScreen(terminal) ? watchedLines(terminal, signal) : null;
    await runInProcesses({
      jobs,
      worker: ({ index, of }) => [...worker, '--share', `${index}/${of}`, ...(lines === null ? [] : ['--watched'])],
      signal,
      ...(lines === null ? { stderr } : { stderr: { write: notesTo(lines) }, onWork: await shownOn(lines) }),
    }).finally(() => lines?.stop());
  } else {
    const { share, restart = false, watched } = options;
    const lines = hasScreen(terminal) ? watchedLines(terminal, signal) : null;
    const run: Omit<RunOptions, 'share'> = {
      restart,
      signal,
      population,
      contextFor(group, { first, total }) {
        const title = `${placeOf(group, first)}/${total}] ${namesOf(group)}`;
        const shown = stageProgress(title, terminal, lines === null ? { signal } : { lines });
        return watched ? { ...shown, ...watchedByParent(title) } : shown;
      },
      onBackend({ name, device }) {
        const line = `earshot: backend ${name} (${device})`;
        if (lines === null) stderr.write(`${line}\n`);
        else lines.note(line);
      },
    };
    // One worker speaks for all of them.
    const quietly = share !== undefined && share.index > 0 ? { ...run, onBackend: undefined } : run;
    if (share !== undefined) return asWorker(() => experiment.run({ share, ...quietly }), signal);
    await experiment.run({ share: { index: 0, of: 1 }, ...run }).finally(() => lines?.stop());
  }
  if (signal.aborted) throw new Interrupted('stopped');
  const command = ['earshot', ...trainingWords(path, options)].map(quoted).join(' ');
  const { summary } = experiment.writeReport(command);
  stdout.write(options.json ? `${JSON.stringify(experiment.results(), null, 2)}\n` : summary);
  const page = options.html ? `   Page: ${await experiment.writePage({ command })}` : '';
  stderr.write(
    `\nRuns: ${runs}/${name}   Report: ${runs}/${name}/report.md${page}\n${options.json ? '' : nextSteps(experiment)}`,
  );
}

/** What will happen: said before anything does. Nothing where all is there already. */
function opening(
  experiment: OpenedExperiment,
  { jobs, runs, restart, width }: { jobs: number; runs: string; restart: boolean; width: number },
): string {
  const { name, description, trials } = experiment;
  const left = restart ? trials.length : trials.length - experiment.finished().length;
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

/** What a reader who has seen the table may want next, with the last run as the example. */
function nextSteps({ kind, trials }: OpenedExperiment): string {
  const run = trials[trials.length - 1].directory;
  const steps =
    kind === 'selector'
      ? [`npx earshot select ${quoted(run)} --out selected.jsonl`]
      : [`npx earshot decide threads.jsonl --run ${quoted(run)}`, `npx earshot export ${quoted(run)} --out policy`];
  return `Next: ${[...steps, 'npx earshot init (the same with your own threads)'].join('\n      ')}\n`;
}

/** At most one process for each program that is not finished. */
async function programsOf(
  experiment: OpenedExperiment,
  { jobs, share, restart, population }: TrainOptions,
): Promise<Programs> {
  const chosen = await experiment.programs({ jobs: share === undefined ? jobs : 1, population });
  const left = restart ? experiment.trials.length : experiment.trials.length - experiment.finished().length;
  return { ...chosen, jobs: Math.max(1, Math.min(chosen.jobs, Math.ceil(left / chosen.population))) };
}

/** Notes of workers stay on the terminal, above what is drawn. */
function notesTo(lines: LiveLines): (text: string) => boolean {
  return (text) => {
    lines.note(text.trimEnd());
    return true;
  };
}

/** A line for each piece of work that a worker is at. */
async function shownOn(lines: LiveLines): Promise<(work: WatchedWork) => void> {
  const { liveStages } = await import('./progress.ts');
  const stages = new Map<string, ReturnType<typeof liveStages>>();
  return (work) => {
    const own = stages.get(work.title) ?? liveStages(work.title, lines);
    stages.set(work.title, own);
    if (work.say === 'progress') own.onProgress(work.stage, work);
    else if (work.say === 'measured') own.onMeasured?.(work.measured);
    else own.done();
  };
}

/** Runs as a worker: an error goes to the parent process, which prints it. */
async function asWorker(run: () => Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (signal.aborted || !(await tellParent(error))) throw error;
    throw new ReportedElsewhere(error);
  }
  if (signal.aborted) throw new ReportedElsewhere(new Interrupted('stopped'));
}

/** The arguments of a command that trains the same runs. */
function trainingWords(path: string, options: TrainOptions): string[] {
  const { data, set, seeds, variants, runs, population } = options;
  return [
    'train',
    path,
    ...(data === undefined ? [] : ['--data', data]),
    ...set.flatMap((each) => ['--set', each]),
    ...(seeds === undefined ? [] : ['--seeds', seeds.join(',')]),
    ...(variants === undefined ? [] : ['--variants', variants.join(',')]),
    ...(runs === defaultRuns ? [] : ['--runs', runs]),
    ...(population === undefined ? [] : ['--population', String(population)]),
  ];
}

const launcher = fileURLToPath(new URL('./earshot.mjs', import.meta.url));

/** `[3`, or `[3–5` for a group. */
function placeOf(group: readonly unknown[], first: number): string {
  return group.length === 1 ? `[${first}` : `[${first}–${first + group.length - 1}`;
}

function namesOf(group: readonly Trial<unknown>[]): string {
  const [{ variant, seed }] = group;
  return group.length === 1 ? `${variant}, seed ${seed}` : `${group.length} runs from ${variant}, seed ${seed}`;
}

function hasStarted(trials: readonly Trial<unknown>[]): boolean {
  return trials.some(({ directory }) => existsSync(`${directory}/config.json`));
}

function names(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}

function integers(text: string): number[] {
  const parts = text.split(',');
  if (parts.some((part) => part.trim() === '' || !Number.isInteger(Number(part))))
    throw new InvalidArgumentError('It must be a list such as 1,2,3.');
  return parts.map(Number);
}
