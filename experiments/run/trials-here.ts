import type { BackendChoice } from '../../src/tensor/backend.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { severityOf } from './failures.ts';
import { isFinished, type RunTrial, type Trial, type TrialOutcome, type WaitingTrial } from './trial.ts';

/** Trains a trial to its end or the signal. */
export type TrainTrial = (trial: Trial, context: WorkContext) => Promise<unknown>;

/** Prepares what the trials of a process share that are like the first one. */
export type StartTrials = (
  first: Trial,
  listener: { onBackend: (backend: BackendChoice) => void },
) => Promise<TrainTrial>;

/** Turns an error into the end of a trial. A defect comes with its stack. */
export function failedBy(error: unknown): TrialOutcome {
  const severity = severityOf(error);
  const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
  return { how: 'failed', severity, message: severity === 3 ? stack : message };
}

/**
 * Runs trials in this process, keeping data and tables from one to the next: one after the other, or on xla, where runs become one
 * program, all that wait at once.
 */
export function trialsHere(options: {
  start: StartTrials;
  signal: AbortSignal;
  onNote: (line: string) => void;
}): RunTrial {
  const { start, signal, onNote } = options;
  const waiting: WaitingTrial[] = [];
  let backend: BackendChoice['name'] | null = null;
  const listener = {
    onBackend: (choice: BackendChoice) => {
      backend = choice.name;
      onNote(`backend ${choice.name} (${choice.device})`);
    },
  };
  let last: Promise<unknown> = Promise.resolve();
  let shared: { readonly by: string; readonly train: TrainTrial } | null = null;
  const sharedBy = ({ kind, config, runs, ...trial }: Trial) =>
    JSON.stringify([kind, trial.backend ?? config.backend, runs]);

  async function run({ trial, watch }: WaitingTrial, train: TrainTrial): Promise<TrialOutcome> {
    const { directory, maxWaitMs = null } = trial;
    // Loaded by a process that trains, and not by one that waits.
    const { holdingRun } = await import('../../checkpoints/run-lock.ts');
    await holdingRun(directory, () => train(trial, workContext({ ...watch, onNote, signal, maxWaitMs })));
    return { how: isFinished(directory) ? 'finished' : 'interrupted' };
  }

  async function outcomeOf(work: () => Promise<TrialOutcome>): Promise<TrialOutcome> {
    if (signal.aborted) return { how: 'interrupted' };
    try {
      return await work();
    } catch (error) {
      if (signal.aborted && error instanceof Error && error.name === 'AbortError') return { how: 'interrupted' };
      return failedBy(error);
    }
  }

  /** Runs the trial that waits longest, with the others that can be trained beside it. */
  async function runNext(): Promise<void> {
    const first = waiting.shift();
    if (first === undefined) return;
    const outcome = await outcomeOf(async () => {
      const by = sharedBy(first.trial);
      if (shared?.by !== by) shared = { by, train: await start(first.trial, listener) };
      const { train } = shared;
      if (backend !== 'xla') return run(first, train);
      const others = waiting.filter(({ trial }) => sharedBy(trial) === by);
      for (const other of others) waiting.splice(waiting.indexOf(other), 1);
      const { together } = await import('../../src/tensor/graph/compiled.ts');
      const loops = [first, ...others].map((one) => async () => {
        const ended = await outcomeOf(() => run(one, train));
        one.resolve(ended);
        return ended;
      });
      const [result] = await together(loops);
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
    first.resolve(outcome);
  }

  return (trial, watch = {}) =>
    new Promise((resolve) => {
      waiting.push({ trial, watch, resolve });
      last = last.then(runNext);
    });
}
