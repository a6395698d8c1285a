import { join } from 'node:path';
import { noteOutcome } from '../run/failure-file.ts';
import { isFinished, type RunTrial, type TrialFailure, type TrialOutcome } from '../run/trial.ts';
import { type Keep, reduceTrial } from './keep.ts';
import type { SweepPlan, SweepTrial } from './plan.ts';
import type { SweepFolder } from './sweep-folder.ts';
import { trialsOfPlan } from './trials-of-plan.ts';

export interface SweepRun {
  readonly plan: SweepPlan;
  readonly folder: SweepFolder;
  readonly runTrial: RunTrial;
  /** What finished trials leave behind. */
  readonly keep: Keep;
  /** Only every `of`-th trial, beginning with the `index`-th. */
  readonly shard: { readonly index: number; readonly of: number };
  readonly signal: AbortSignal;
  readonly onTrials: (counts: { done: number; total: number }) => void;
  readonly onFailure: (trial: SweepTrial, failure: TrialFailure) => void;
}

/**
 * Runs what is left of a sweep. Trials that are finished are left as they are, those that were cut off go on, those that
 * failed are tried again. A trial that fails does not stop the others.
 */
export async function runSweep(run: SweepRun): Promise<void> {
  const { plan, folder, keep, shard, signal, onTrials, onFailure } = run;
  const { runs } = folder;
  const trials = trialsOfPlan(plan).filter((_, index) => index % shard.of === shard.index);
  let done = 0;
  const tell = () => onTrials({ done, total: trials.length });
  tell();
  const onEnded = (trial: SweepTrial, outcome: TrialOutcome) => {
    if (outcome.how === 'interrupted' && signal.aborted) return;
    const directory = folder.directoryOf(trial);
    noteOutcome(directory, outcome);
    if (outcome.how === 'finished') reduceTrial(directory, { keep, sharedFolder: join(folder.path, 'shared') });
    if (outcome.how === 'failed') onFailure(trial, outcome);
    done++;
    tell();
  };
  await Promise.all(
    trials.map(async (trial) => {
      const directory = folder.directoryOf(trial);
      onEnded(trial, isFinished(directory) ? { how: 'finished' } : await run.runTrial({ ...trial, directory, runs }));
    }),
  );
}
