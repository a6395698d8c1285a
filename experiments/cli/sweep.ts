import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { counted } from '../../src/counted.ts';
import type { PlainObject } from '../config/overrides.ts';
import { screenText, wrapped } from '../report/narrow-table.ts';
import { failureIn } from '../run/failure-file.ts';
import { failedCount, failureOf } from '../run/failures.ts';
import { isFinished } from '../run/trial.ts';
import type { SweepPlan } from '../sweep/plan.ts';
import type { SweepFolder } from '../sweep/sweep-folder.ts';
import { sizeOf, trialsOfPlan } from '../sweep/trials-of-plan.ts';
import { collect, commandLineOf, indexOfShares, type OptionsOf, positiveInteger } from './option-values.ts';
import { Interrupted, printResult, proseWidth, type Terminal } from './terminal.ts';

const defaultRuns = 'runs';

export function sweepCommand(terminal: Terminal) {
  return sweepOptions().action((file, options) => sweep(file, { ...options, terminal }));
}

type SweepOptions = OptionsOf<typeof sweepOptions>;

function sweepOptions() {
  return new Command('sweep')
    .description(
      'Run an experiment with many settings: every setting with every seed, in parallel, then one table, a conclusion and pictures.',
    )
    .argument('<file>', 'YAML sweep file, such as experiments/recipes/ratio-pareto.yaml')
    .option(
      '--data <path>',
      'thread file to run on; the same as --set data.threads=<path>, or data.train for a selector',
    )
    .option('--set <path=value>', 'change a setting of the experiment, for all trials; may be repeated', collect, [])
    .option('--runs <folder>', 'where the sweep and the shared cache go', defaultRuns)
    .option(
      '--jobs <count>',
      'trials that run at the same time, each in a process (default: one for each processor core; just one on a GPU, and with language models, because limits of rates hold for one process)',
      positiveInteger,
    )
    .option('--shard <index/count>', 'run only this share of the trials, from 0: one job of an array', indexOfShares)
    .option(
      '--queue <address>',
      'let `earshot worker` on any machine run the trials, over a Redis such as redis://host:6379',
    )
    .addOption(
      new Option(
        '--keep <what>',
        'of finished trials: all; policies: no logs and no older checkpoints; results: no checkpoints and models either, so that a trial can be scored but not decide',
      )
        .choices(['all', 'policies', 'results'])
        .default('all'),
    )
    .option('--restart', 'remove the trials of this sweep and start again')
    .option('--dry-run', 'list the trials, and run none')
    .option('--json', 'print the results as JSON instead of the report, with the seconds that trials took for what')
    .option('--no-html', 'leave out the page of the results, report.html')
    .addHelpText(
      'after',
      `
A trial is one setting with one seed; its id is the hash of its configuration. Given again, the command goes on: finished trials
are read, those that were cut off go on from their last checkpoint, those that failed are tried again. Trials that are added
to the file later join the others.

Settings are chosen on the development part (split.development). The test is scored once, for the setting that leads.

\`earshot options sweep\` lists what may stand in the file. docs/how-to/sweep.md has templates for Slurm and Kubernetes.

Examples:
  earshot sweep experiments/recipes/ratio-pareto.yaml
  earshot sweep my-sweep.yaml --data threads.jsonl --jobs 4
  earshot sweep my-sweep.yaml --shard $SLURM_ARRAY_TASK_ID/10
  earshot sweep my-sweep.yaml --queue redis://head:6379`,
    );
}

async function sweep(file: string, options: SweepOptions & { terminal: Terminal }): Promise<void> {
  const { runs, terminal, restart = false } = options;
  const { stdout, stderr } = terminal;
  const plan = await loadPlan(file, options);
  const [{ checkThreads }, { openSweepFolder }] = await Promise.all([
    import('../kinds/check-threads.ts'),
    import('../sweep/sweep-folder.ts'),
  ]);
  // Before anything is listed, made or removed.
  if (options.queue !== undefined) (await import('../sweep/queue/connection.ts')).placeOf(options.queue);
  if (options.dryRun) {
    stdout.write(listing(plan));
    return;
  }
  const signal = terminal.interruptSignal();
  // A split that only some settings cannot have is their failure alone.
  const settings = plan.settings.map(({ resolved }) => ({ ...resolved, checkThreads: null }));
  if (!existsSync(join(runs, plan.name))) await checkThreads(settings);
  const folder = await openSweepFolder(plan, { runs, restart });
  const seconds = await runTrials(plan, { ...options, folder, signal });
  if (signal.aborted) throw new Interrupted('stopped');

  const missing = missingTrials(plan, folder);
  if (options.shard !== undefined && missing > 0) {
    stderr.write(
      `earshot: this shard is done; ${missing} trials of the others are not. The last shard to end writes the report, or the command without --shard, which runs what is missing\n`,
    );
    return failIfAny(plan, folder);
  }
  const { data, set } = options;
  const command = commandLineOf(['sweep', file], {
    data,
    set,
    runs: runs === defaultRuns ? undefined : runs,
  });
  const page = options.html ? `${folder.path}/report.html` : null;
  const { writeResults } = await import('../sweep/write-results.ts');
  const { summary, json } = await writeResults(plan, { folder, command, page });
  const text = screenText(summary, { width: proseWidth(terminal) });
  // Times are of this command, and no part of what the files say of the trials.
  printResult(terminal, { json: options.json, value: { ...json, seconds }, text });
  stderr.write(
    `\nTable: ${folder.path}/trials.csv   Report: ${folder.path}/report.md${page === null ? '' : `   Page: ${page}`}\n`,
  );
  failIfAny(plan, folder);
}

async function loadPlan(file: string, { data, set }: SweepOptions): Promise<SweepPlan> {
  const [{ parseOverride }, { kindOf }, { planSweep }, { loadSweepFile }] = await Promise.all([
    import('../config/overrides.ts'),
    import('../kinds/kinds.ts'),
    import('../sweep/plan.ts'),
    import('../sweep/sweep-file.ts'),
  ]);
  const overrides: PlainObject[] = set.map(parseOverride);
  const loaded = await loadSweepFile(file, { overrides });
  if (data === undefined) return planSweep(loaded);
  const kind = await kindOf(loaded.experiment.kind, loaded.source);
  return planSweep(await loadSweepFile(file, { overrides: [...overrides, kind.dataOverride(data)] }));
}

interface Running extends SweepOptions {
  readonly terminal: Terminal;
  readonly folder: SweepFolder;
  readonly signal: AbortSignal;
}

/** Runs the trials here, or with the workers of a queue. */
async function runTrials(plan: SweepPlan, options: Running): Promise<Readonly<Record<string, number>>> {
  const { folder, signal, shard = { index: 0, of: 1 }, terminal } = options;
  const [{ startTrials }, { runSweep }, { trialPool }, { sweepProgress }] = await Promise.all([
    import('../kinds/kinds.ts'),
    import('../sweep/run-sweep.ts'),
    import('../run/trial-pool.ts'),
    import('./sweep-progress.ts'),
  ]);
  const jobs = options.queue === undefined ? await jobsOf(plan, options) : null;
  // A queue may refuse or be away, so what is shown on the terminal begins after it. The pool notes nothing before it runs.
  const { run, close } =
    jobs !== null
      ? trialPool({
          jobs,
          start: startTrials,
          signal,
          onNote: (line) => progress.onNote(line),
        })
      : await onQueue(plan, options);
  terminal.stderr.write(opening(plan, { folder, jobs, shard, width: proseWidth(terminal) }));
  const progress = sweepProgress(plan, { terminal, signal });
  try {
    await runSweep({
      plan,
      folder,
      keep: options.keep,
      shard,
      signal,
      runTrial: progress.watching(run),
      onTrials: progress.onTrials,
      onFailure: ({ label }, failure) => progress.onFailure(label, failure),
    });
  } finally {
    progress.stop();
    await close();
  }
  return progress.seconds();
}

/** What will happen: said before anything does. Nothing where all is there already. */
function opening(
  plan: SweepPlan,
  options: {
    folder: SweepFolder;
    jobs: number | null;
    shard: { index: number; of: number };
    width: number;
  },
): string {
  const { folder, jobs, shard, width } = options;
  const trials = trialsOfPlan(plan).filter((_, index) => index % shard.of === shard.index);
  const left = trials.filter((trial) => !isFinished(folder.directoryOf(trial)));
  if (left.length === 0) return '';
  const all = `${left.length === trials.length ? '' : `${left.length} of `}${counted(trials.length, 'trial')}`;
  const which = shard.of === 1 ? '' : `, shard ${shard.index} of ${shard.of}`;
  const text = `${plan.name}: ${all} (${counted(plan.settings.length, 'setting')}${which}), ${wayOf(jobs)}, into ${folder.path}; then a table, a conclusion and a report. Ctrl-C saves, and the same command goes on.`;
  return `${wrapped(text, { width })}\n\n`;
}

function wayOf(jobs: number | null): string {
  if (jobs === null) return 'by the workers of the queue (`earshot worker` with the same --queue starts one)';
  return jobs === 1 ? 'in this process' : `in ${jobs} processes`;
}

async function jobsOf(plan: SweepPlan, { jobs }: SweepOptions): Promise<number> {
  const [{ processesFor }, { processNeeds }] = await Promise.all([
    import('../run/processes.ts'),
    import('../kinds/experiment-kind.ts'),
  ]);
  const needs = processNeeds(plan.settings.map(({ resolved }) => resolved));
  return processesFor({ ...needs, trials: trialsOfPlan(plan).length, jobs });
}

/** Loaded for those alone who ask for it. */
async function onQueue(plan: SweepPlan, { queue: address = '', folder, signal, terminal }: Running) {
  const [{ openSweepQueue }, { notesTo }] = await Promise.all([
    import('../sweep/queue/sweep-queue.ts'),
    import('./progress.ts'),
  ]);
  return openSweepQueue(plan, { address, folder, signal, onNote: notesTo(terminal) });
}

/** @throws the error whose exit code says how bad the worst failure was */
function failIfAny(plan: SweepPlan, folder: SweepFolder): void {
  const failures = trialsOfPlan(plan).flatMap((trial) => {
    const failure = failureIn(folder.directoryOf(trial));
    return failure === null ? [] : [{ ...failure, label: trial.label }];
  });
  if (failures.length === 0) return;
  const count = failedCount(failures, { total: trialsOfPlan(plan).length, what: 'trials' });
  throw failureOf(failures, `${count}; the report names each. Give the command again to try them once more`);
}

function missingTrials(plan: SweepPlan, folder: SweepFolder): number {
  const directories = trialsOfPlan(plan).map((trial) => folder.directoryOf(trial));
  return directories.filter((directory) => failureIn(directory) === null && !isFinished(directory)).length;
}

function listing(plan: SweepPlan): string {
  const lines = trialsOfPlan(plan).map(({ id, label }) => `${id}  ${label}\n`);
  return `${lines.join('')}${sizeOf(plan)}\n`;
}
