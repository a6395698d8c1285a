import { counted } from '../../src/counted.ts';
import { InputError } from '../../src/errors.ts';
import { present } from '../../src/present.ts';
import { type PlainObject, parseOverride } from '../config/overrides.ts';
import { type OpenedExperiment, trialsOf } from '../kinds/experiment-kind.ts';
import { startTrials } from '../kinds/kinds.ts';
import { screenText } from '../report/report.ts';
import { wrapped } from '../report/terminal-text.ts';
import { failureIn } from '../run/failure-file.ts';
import { failedCount, failureOf } from '../run/failures.ts';
import { isFinished, type Trial, type TrialFailure, trialId } from '../run/trial.ts';
import { processesFor, type TrialPool, trialPool } from '../run/trial-pool.ts';
import { checkThreads } from '../runner/check-threads.ts';
import { differencesOf, folderOf, noteFiles, refuseMissingFiles, removeRuns } from '../runner/experiment-folder.ts';
import { shipPolicy, writeReport } from '../runner/experiment-report.ts';
import { type ExperimentSource, openBesideOthers, openExperiment } from '../runner/open-experiment.ts';
import { failuresOf, runTrials, trialsOfShard } from '../runner/run-trials.ts';
import { isSweep, sizeOf } from '../sweep/plan.ts';
import { commandLineOf } from './option-values.ts';
import { notesTo } from './progress.ts';
import { maxWaitMsOf } from './shared-options.ts';
import { Interrupted, printResult, proseWidth, type Terminal } from './terminal.ts';
import type { TrialOptions } from './train-options.ts';
import { trialsProgress } from './trials-progress.ts';

interface Training extends TrialOptions {
  readonly path: string;
  /** The experiment and its command, if there is no file. */
  readonly raw?: PlainObject;
  readonly command?: string;
  readonly terminal: Terminal;
}

/** Runs what is left of an experiment or a sweep, then shows what it came to. */
export async function train(options: Training): Promise<OpenedExperiment> {
  const { path, runs, restart, queue, terminal } = options;
  // Before anything is listed, made or removed.
  if (queue !== undefined) (await import('../run/redis.ts')).redisPlace(queue, '--queue');
  const { experiment, others } = await opened({ ...options, overrides: options.set.map(parseOverride) }, options);
  const { name } = experiment;
  const all = trialsOf(experiment);
  if (options.dryRun) {
    const value = { name, trials: all.map((trial) => ({ trial: trialId(trial), label: trial.label })) };
    printResult(terminal, { json: options.json, value, text: listing(experiment) });
    return experiment;
  }
  const trials = trialsOfShard(experiment, options.shard);
  const left = restart ? trials : trials.filter(({ directory }) => !isFinished(directory));
  if (left.length > 0) refuseMissingFiles(experiment);
  if (left.length === all.length) await checkThreads(experiment);
  if (others !== null)
    terminal.stderr.write(
      `${wrapped(`${runs}/${others.name} holds other runs: ${others.differences.join(', ')}. These stand beside them, as ${name}; --restart would replace the others.`, { width: proseWidth(terminal) })}\n\n`,
    );
  const signal = terminal.interruptSignal();
  if (restart) await removeRuns(experiment, trials);
  await noteFiles(experiment);
  const failed = await runHere(experiment, { ...options, trials, left, signal });
  if (signal.aborted) throw new Interrupted('stopped');

  const failures = failuresOf(all, failed);
  const failIfAny = () => {
    if (failures.length > 0) throw failureOf(failures, failedInWords(failures, all));
  };
  const missing = all.filter(({ directory }) => !isFinished(directory) && failureIn(directory) === null).length;
  const isPart = options.shard !== undefined && missing > 0;
  if (isPart)
    terminal.stderr.write(
      `earshot: this shard is done; ${missing} trials of the others are not. The last shard to end writes the report, or the command without --shard, which runs what is missing\n`,
    );
  // A sweep compares the settings that are whole; variants are compared all or none.
  if (isPart || !isSweep(experiment)) failIfAny();
  if (isPart) return experiment;
  const command =
    options.command ??
    commandLineOf([isSweep(experiment) ? 'sweep' : 'train', path], {
      data: options.data,
      set: options.set,
      name: others === null ? options.name : name,
      seeds: options.seeds?.join(','),
      variants: options.variants?.join(','),
      runs: runs === 'runs' ? undefined : runs,
    });
  await showResults(experiment, { ...options, command, isNew: left.length > 0 });
  failIfAny();
  return experiment;
}

/** A name that was given is meant, and --restart replaces what is there. */
async function opened(source: ExperimentSource, { name, restart }: Training) {
  if (name === undefined && !restart) return openBesideOthers(source);
  const experiment = await openExperiment(source);
  const differences = restart ? [] : await differencesOf(experiment);
  if (differences.length > 0)
    throw new InputError(
      `${folderOf(experiment)} holds other runs: ${differences.join(', ')}. Restore what was changed to go on with them, give another --name to make runs beside them, or --restart to replace them`,
    );
  return { experiment, others: null };
}

function listing(experiment: OpenedExperiment): string {
  const trials = trialsOf(experiment);
  const size = isSweep(experiment) ? sizeOf(experiment) : counted(trials.length, 'trial');
  return `${trials.map((trial) => `${trialId(trial)}  ${trial.label}\n`).join('')}${size}\n`;
}

interface Running extends Training {
  readonly trials: readonly Trial[];
  /** Those that are not finished. */
  readonly left: readonly Trial[];
  readonly signal: AbortSignal;
}

/** Runs the trials on this machine, or with the workers of a queue. */
async function runHere(experiment: OpenedExperiment, of: Running) {
  const { trials, left, signal, terminal, keep, queue: address } = of;
  const resolved = experiment.members.map((member) => member.resolved);
  const asksModels = resolved.some((each) => each.asksModels);
  const needs = { backend: resolved[0].backend, asksModels, trials: left.length, jobs: of.jobs };
  const jobs = address === undefined ? await processesFor(needs) : 0;
  // Runs that a process has on xla are one program.
  const atOnce = resolved[0].backend === 'xla' ? Math.ceil(left.length / Math.max(jobs, 1)) : 1;
  // A queue may refuse or be away, so what is shown on the terminal begins after it. The pool notes nothing before it runs.
  const pool: TrialPool =
    address === undefined
      ? trialPool({ jobs, atOnce, start: startTrials, signal, onNote: (line) => progress.onNote(line) })
      : await (await import('../runner/queue/trial-queue.ts')).openTrialQueue(experiment, {
          ...{ address, signal },
          onNote: notesTo(terminal),
        });
  terminal.stderr.write(opening(experiment, { ...of, jobs }));
  const progress = trialsProgress(experiment, { trials, terminal, signal });
  const run = progress.watching(pool.run);
  const maxWaitMs = maxWaitMsOf(of);
  const failed = new Map<Trial, TrialFailure>();
  try {
    await runTrials(experiment, {
      ...{ trials, keep, signal },
      runTrial: (trial) => run({ ...trial, maxWaitMs }),
      onTrials: progress.onTrials,
      onFailure(trial, failure) {
        failed.set(trial, failure);
        progress.onFailure(trial.label, failure);
      },
    });
  } finally {
    progress.stop();
    await pool.close();
  }
  return failed;
}

/** Announces the trials that will run; prints nothing if all are finished. */
function opening(experiment: OpenedExperiment, of: Running & { jobs: number }): string {
  const { description, members } = experiment;
  const { trials, left, jobs, shard, queue, terminal } = of;
  if (left.length === 0) return '';
  const count = `${left.length === trials.length ? '' : `${left.length} of `}${counted(trials.length, 'run')}`;
  const parts = present([
    members.length > 1 && counted(members.length, isSweep(experiment) ? 'setting' : 'variant'),
    shard !== undefined && `shard ${shard.index} of ${shard.of}`,
  ]);
  const which = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  const here = `in ${jobs === 1 ? 'this process' : `${jobs} processes`}`;
  const there = 'by the workers of the queue (`earshot worker` with the same --queue starts one)';
  const text = `${experiment.name}: ${count}${which} ${queue === undefined ? here : there}, into ${folderOf(experiment)}; then a table and a report. Ctrl-C saves, and the same command goes on.`;
  const width = proseWidth(terminal);
  const paragraphs = present([description.trim(), text]).map((paragraph) => `${wrapped(paragraph, { width })}\n`);
  return `${paragraphs.join('')}\n`;
}

function failedInWords(failed: readonly { readonly label: string; readonly message: string }[], all: readonly Trial[]) {
  const [{ message }] = failed;
  if (all.length === 1) return message;
  // What is wrong with all of them alike is wrong the next time, too.
  if (failed.length === all.length && failed.every((other) => other.message === message))
    return `all ${all.length} runs failed alike`;
  return `${failedCount(failed, { total: all.length, what: 'runs' })}. Give the command again to try them once more`;
}

async function showResults(
  experiment: OpenedExperiment,
  of: Training & { command: string; isNew: boolean },
): Promise<void> {
  const { terminal, html, command, isNew } = of;
  const { stderr } = terminal;
  const folder = folderOf(experiment);
  const { summary, results, next, recommended, writePage } = await writeReport(experiment, { command });
  printResult(terminal, { json: of.json, value: results, text: screenText(summary, { width: proseWidth(terminal) }) });
  const table = isSweep(experiment) ? `   Table: ${folder}/trials.csv` : '';
  const page = html ? `   Page: ${await writePage()}` : '';
  // Last, so that a policy which cannot be exported hides no result.
  const policy = await shipPolicy(experiment, { recommended, isNew });
  const shipped = policy === null ? '' : `   Policy: ${policy}`;
  const steps = of.json || next.length === 0 ? '' : `Next: ${next.join('\n      ')}\n`;
  stderr.write(`\nRuns: ${folder}${shipped}${table}   Report: ${folder}/report.md${page}\n${steps}`);
}
