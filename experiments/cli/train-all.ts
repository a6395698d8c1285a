import { programsWanted } from '../kinds/experiment-kind.ts';
import { startTrials } from '../kinds/kinds.ts';
import { finishedTrials, type OpenedExperiment } from '../kinds/open-experiment.ts';
import { inBatches, runInBatches } from '../run/batched-runs.ts';
import { noteOutcome } from '../run/failure-file.ts';
import { failedCount, failureOf, failureTeller } from '../run/failures.ts';
import { choosePrograms, type Programs } from '../run/programs.ts';
import type { RunGroup, TrialFailure, TrialTask } from '../run/trial.ts';
import { trialPool } from '../run/trial-pool.ts';
import { notesTo, stageProgress, watchedLines } from './progress.ts';
import { hasScreen, Interrupted, type Terminal } from './terminal.ts';

/** At most one process for each program that is not finished. */
export async function programsOf(
  experiment: OpenedExperiment,
  asked: { jobs?: number; batchedRuns?: number },
): Promise<Programs> {
  const { trials, variants } = experiment;
  const { jobs, batchedRuns } = asked;
  const chosen = await choosePrograms({ ...programsWanted(variants), trials: trials.length, jobs, batchedRuns });
  const left = trials.length - finishedTrials(experiment).length;
  return { ...chosen, jobs: Math.max(1, Math.min(chosen.jobs, Math.ceil(left / chosen.batchedRuns))) };
}

/**
 * Trains what is left of an experiment, and shows it.
 * @throws the error whose exit code says how bad the worst failure was
 */
export async function trainAll(
  { trials }: OpenedExperiment,
  of: Programs & { maxWaitMs: number | null; terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const { jobs, batchedRuns, maxWaitMs, terminal, signal } = of;
  const lines = hasScreen(terminal) ? watchedLines(terminal, signal) : undefined;
  const onNote = notesTo(terminal, lines);
  const pool = trialPool({ jobs, start: startTrials, signal, onNote });
  const order = inBatches(trials, { size: batchedRuns }).flat();
  const watched: RunGroup = async (tasks) => {
    const { done, ...told } = stageProgress(titleOf(tasks, order), terminal, { lines });
    const patient = tasks.map((task) => ({ ...task, maxWaitMs }));
    return pool.run(patient, told).finally(done);
  };
  const failed: (TrialFailure & { label: string })[] = [];
  const tellFailure = failureTeller(onNote);
  try {
    await runInBatches(trials, {
      batchedRuns,
      run: watched,
      onEnded(ended) {
        for (const { trial, outcome } of ended) {
          if (outcome.how !== 'interrupted') noteOutcome(trial.directory, outcome);
          if (outcome.how !== 'failed') continue;
          failed.push({ label: trial.label, ...outcome });
          // A single one is told by the error at the end.
          if (trials.length > 1 || signal.aborted) tellFailure(trial.label, outcome);
        }
      },
    });
  } finally {
    lines?.stop();
    await pool.close();
  }
  if (signal.aborted) throw new Interrupted('stopped');
  if (failed.length === 0) return;
  const [{ message }] = failed;
  if (trials.length === 1) throw failureOf(failed, message);
  // What is wrong with all of them alike is wrong the next time, too.
  const isCommon = failed.length === trials.length && failed.every((other) => other.message === message);
  throw failureOf(
    failed,
    isCommon
      ? `all ${trials.length} runs failed alike`
      : `${failedCount(failed, { total: trials.length, what: 'runs' })}. Give the command again to try them once more`,
  );
}

/** `[3/5] paper, seed 1`, or `[3–5/5] 3 runs from paper, seed 1` for a group, by the order in which trials run. */
function titleOf([first, ...others]: readonly TrialTask[], order: readonly TrialTask[]): string {
  const place = order.findIndex(({ directory }) => directory === first.directory) + 1;
  if (others.length === 0) return `[${place}/${order.length}] ${first.label}`;
  const count = 1 + others.length;
  return `[${place}–${place + others.length}/${order.length}] ${count} runs from ${first.label}`;
}
