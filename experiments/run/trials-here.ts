import type { BackendChoice } from '../../src/tensor/backend.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { severityOf } from './failures.ts';
import { isFinished, type RunTrial, type Trial, type TrialOutcome, type TrialWatch } from './trial.ts';

/** Trains a trial to its end or the signal. */
export type TrainTrial = (trial: Trial, context: WorkContext) => Promise<unknown>;

/** Prepares what the trials of a process share that are like the first one. */
export type StartTrials = (first: Trial, told: { onBackend: (backend: BackendChoice) => void }) => Promise<TrainTrial>;

/** Runs trials in this process, one after the other. It keeps data and tables from one to the next. */
export function trialsHere(options: {
  start: StartTrials;
  signal: AbortSignal;
  onNote: (line: string) => void;
  /** Told what the trials run on; a note unless given. */
  onBackend?: (line: string) => void;
}): RunTrial {
  const { start, signal, onNote, onBackend = onNote } = options;
  const told = {
    onBackend: ({ name, device }: BackendChoice) => onBackend(`backend ${name} (${device})`),
  };
  let last: Promise<unknown> = Promise.resolve();
  let shared: { readonly by: string; readonly train: TrainTrial } | null = null;

  async function run(trial: Trial, { onBegun, ...watch }: TrialWatch): Promise<TrialOutcome> {
    if (signal.aborted) return { how: 'interrupted' };
    onBegun?.();
    try {
      const { directory, maxWaitMs = null } = trial;
      const by = JSON.stringify([trial.kind, trial.backend ?? trial.config.backend, trial.runs]);
      if (shared?.by !== by) shared = { by, train: await start(trial, told) };
      const { train } = shared;
      // Loaded by a process that trains, and not by one that waits.
      const { holdingRun } = await import('../../checkpoints/run-lock.ts');
      await holdingRun(directory, () => train(trial, workContext({ ...watch, onNote, signal, maxWaitMs })));
      return { how: isFinished(directory) ? 'finished' : 'interrupted' };
    } catch (error) {
      if (signal.aborted && error instanceof Error && error.name === 'AbortError') return { how: 'interrupted' };
      const severity = severityOf(error);
      const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
      return { how: 'failed', severity, message: severity === 3 ? stack : message };
    }
  }

  return (trial, watch = {}) => {
    const outcome = last.then(() => run(trial, watch));
    last = outcome;
    return outcome;
  };
}
