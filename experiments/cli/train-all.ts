import { processNeeds } from '../kinds/experiment-kind.ts';
import { startTrials } from '../kinds/kinds.ts';
import { finishedTrials, type OpenedExperiment } from '../kinds/open-experiment.ts';
import { noteOutcome } from '../run/failure-file.ts';
import { failedCount, failureOf, failureTeller } from '../run/failures.ts';
import { processesFor } from '../run/processes.ts';
import type { TrialFailure } from '../run/trial.ts';
import { trialPool } from '../run/trial-pool.ts';
import { notesTo, stageProgress, watchedLines } from './progress.ts';
import { hasScreen, Interrupted, type Terminal } from './terminal.ts';

/** At most one process for each run that is not finished. */
export async function jobsFor(experiment: OpenedExperiment, { jobs }: { jobs?: number }): Promise<number> {
  const { trials, variants } = experiment;
  const left = trials.length - finishedTrials(experiment).length;
  return processesFor({ ...processNeeds(variants), trials: left, jobs });
}

/**
 * Trains what is left of an experiment, and shows it.
 * @throws the error whose exit code says how bad the worst failure was
 */
export async function trainAll(
  { trials }: OpenedExperiment,
  of: { jobs: number; maxWaitMs: number | null; terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const { jobs, maxWaitMs, terminal, signal } = of;
  const lines = hasScreen(terminal) ? watchedLines(terminal, signal) : undefined;
  const onNote = notesTo(terminal, lines);
  const pool = trialPool({ jobs, start: startTrials, signal, onNote });
  const failed: (TrialFailure & { label: string })[] = [];
  const tellFailure = failureTeller(onNote);
  try {
    await Promise.all(
      trials.map(async (trial, index) => {
        const { directory, label } = trial;
        const title = `[${index + 1}/${trials.length}] ${label}`;
        const { done, ...watch } = stageProgress(title, terminal, { lines });
        const outcome = await pool.run({ ...trial, maxWaitMs }, watch).finally(done);
        if (outcome.how !== 'interrupted') noteOutcome(directory, outcome);
        if (outcome.how !== 'failed') return;
        failed.push({ label, ...outcome });
        // A single one is told by the error at the end.
        if (trials.length > 1 || signal.aborted) tellFailure(label, outcome);
      }),
    );
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
