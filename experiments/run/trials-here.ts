import type { BackendChoice } from '../../src/tensor/backend.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { severityOf } from './failures.ts';
import { isFinished, type RunGroup, type ToldOfTrials, type TrialOutcome, type TrialTask } from './trial.ts';

/** Trains trials of one shape together to their end or the signal. */
export type TrainTogether = (tasks: readonly TrialTask[], context: WorkContext) => Promise<unknown>;

/** Prepares what the trials of a process share that are like the first one. */
export type StartTrials = (
  first: TrialTask,
  told: { onBackend: (backend: BackendChoice) => void },
) => Promise<TrainTogether>;

/** Runs groups of trials in this process, one after the other. It keeps data and tables from one to the next. */
export function trialsHere(options: {
  start: StartTrials;
  signal: AbortSignal;
  onNote: (line: string) => void;
  /** Told what the trials run on; a note unless given. */
  onBackend?: (line: string) => void;
}): RunGroup {
  const { start, signal, onNote, onBackend = onNote } = options;
  const told = {
    onBackend: ({ name, device }: BackendChoice) => onBackend(`backend ${name} (${device})`),
  };
  let last: Promise<unknown> = Promise.resolve();
  let shared: { readonly by: string; readonly train: TrainTogether } | null = null;

  async function run(
    tasks: readonly TrialTask[],
    { onBegun, ...watching }: ToldOfTrials,
  ): Promise<readonly TrialOutcome[]> {
    const all = (outcome: TrialOutcome) => tasks.map(() => outcome);
    if (signal.aborted) return all({ how: 'interrupted' });
    onBegun?.();
    try {
      const [first] = tasks;
      const by = JSON.stringify([first.kind, first.backend ?? first.config.backend, first.runs]);
      if (shared?.by !== by) shared = { by, train: await start(first, told) };
      const { train } = shared;
      // Loaded by a process that trains, and not by one that waits.
      const { holdingRuns } = await import('../../checkpoints/run-lock.ts');
      await holdingRuns(
        tasks.map(({ directory }) => directory),
        () => train(tasks, workContext({ ...watching, onNote, signal, maxWaitMs: first.maxWaitMs ?? null })),
      );
      return tasks.map(({ directory }) => ({ how: isFinished(directory) ? 'finished' : 'interrupted' }));
    } catch (error) {
      if (signal.aborted && error instanceof Error && error.name === 'AbortError') return all({ how: 'interrupted' });
      const severity = severityOf(error);
      const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
      return all({ how: 'failed', severity, message: severity === 3 ? stack : message });
    }
  }

  return (tasks, watching = {}) => {
    const outcomes = last.then(() => run(tasks, watching));
    last = outcomes;
    return outcomes;
  };
}
