import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RunDirectory } from '../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../src/atomic-file.ts';
import { InputError, ProviderError } from '../src/errors.ts';
import { type BackendChoice, selectBackend } from '../src/tensor/backend.ts';
import { openCache } from './cache.ts';
import type { Experiment, ExperimentFile } from './experiment.ts';
import { loadData } from './parts.ts';
import { renderReport, type VariantResults } from './report/report.ts';
import { removeTrial, runTrial, type TrialHooks, type TrialResult, trialResultSchema } from './run-trial.ts';

/** A variant with one seed. */
export interface Trial {
  readonly variant: string;
  readonly experiment: Experiment;
  readonly seed: number;
  readonly directory: string;
}

export function trialsOf(file: ExperimentFile, runs: string): Trial[] {
  return file.variants.flatMap(({ name, experiment }) =>
    experiment.seeds.map((seed) => ({
      variant: name,
      experiment,
      seed,
      directory: join(runs, file.name, name, `seed-${seed}`),
    })),
  );
}

export interface RunOptions {
  /** Folder for runs, and for the work they share. */
  readonly runs: string;
  readonly restart: boolean;
  readonly hooksFor: (trial: Trial, place: { index: number; total: number }) => TrialHooks & { done?: () => void };
  readonly onBackend?: (backend: BackendChoice) => void;
  readonly signal: AbortSignal;
}

/** Runs the trials one after the other in this process; stops at the first that the signal interrupts. */
export async function runTrials(trials: readonly Trial[], options: RunOptions): Promise<void> {
  if (trials.length === 0) return;
  const backend = await selectBackend(trials[0].experiment.backend);
  options.onBackend?.(backend);
  const data = new Map<string, ReturnType<typeof loadData>>();
  const caches = new Map<string, ReturnType<typeof openCache>>();
  const once = <T>(map: Map<string, T>, key: string, make: () => T): T => {
    const made = map.get(key) ?? make();
    map.set(key, made);
    return made;
  };
  for (const [index, trial] of trials.entries()) {
    const { experiment, seed, directory } = trial;
    if (options.signal.aborted) return;
    if (options.restart) removeTrial(directory);
    const hooks = options.hooksFor(trial, { index, total: trials.length });
    const dataKey = JSON.stringify([experiment.data, experiment.agent.maxPosts]);
    const threads = await once(data, dataKey, () => loadData(experiment, hooks.onNote));
    const cache = await once(caches, JSON.stringify(experiment.encoder), () =>
      openCache(join(options.runs, 'cache'), experiment),
    );
    try {
      await runTrial({
        experiment,
        seed,
        directory,
        threads,
        cache,
        backend,
        hooks: { ...hooks, signal: options.signal },
      });
    } finally {
      hooks.done?.();
    }
  }
}

/** Runs the trials in several processes, each of which takes every `jobs`-th; the command line of a child is `child`. */
export async function runInProcesses(options: {
  jobs: number;
  child: (share: { index: number; of: number }) => readonly string[];
  signal: AbortSignal;
}): Promise<void> {
  const { jobs, child, signal } = options;
  const codes = await Promise.all(
    Array.from({ length: jobs }, (_, index) => {
      const process_ = spawn(process.execPath, child({ index, of: jobs }), { stdio: ['ignore', 'ignore', 'inherit'] });
      // Not SIGINT: the terminal sends that to the worker as well, and the second would cut its saving short.
      const stop = () => process_.kill('SIGTERM');
      signal.addEventListener('abort', stop, { once: true });
      return new Promise<number>((resolve) => process_.on('exit', (code) => resolve(code ?? 1)));
    }),
  );
  const failed = codes.filter((code) => code !== 0);
  if (signal.aborted || failed.length === 0) return;
  const message = `${failed.length} of ${jobs} worker processes failed; their messages stand above. Run again to go on`;
  throw failed.every((code) => code === 2) ? new ProviderError(message) : new InputError(message);
}

/** Results of the trials that are finished, by variant. */
export function finishedResults(trials: readonly Trial[]): VariantResults[] {
  const byVariant = new Map<string, TrialResult[]>();
  for (const { variant, directory } of trials) {
    const result = readResult(directory);
    if (result !== null) byVariant.set(variant, [...(byVariant.get(variant) ?? []), result]);
  }
  return Array.from(byVariant, ([variant, results]) => ({ variant, trials: results }));
}

function readResult(directory: string): TrialResult | null {
  if (!existsSync(join(directory, 'config.json'))) return null;
  const run = RunDirectory.open(directory);
  return run.isFinished() ? trialResultSchema.parse(run.readResult(trialResultSchema)) : null;
}

/** Writes `report.md` and `report.json` beside the runs and returns the Markdown. */
export function writeReport(
  file: ExperimentFile,
  options: { trials: readonly Trial[]; runs: string; command: string },
): string {
  const results = finishedResults(options.trials);
  const report = renderReport({ name: file.name, description: file.description, command: options.command, results });
  const directory = join(options.runs, file.name);
  writeFileAtomically(join(directory, 'report.md'), report);
  writeFileAtomically(join(directory, 'report.json'), `${JSON.stringify({ name: file.name, results }, null, 2)}\n`);
  return report;
}
