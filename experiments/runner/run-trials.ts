import { join } from 'node:path';
import { type OpenedExperiment, trialsOf } from '../kinds/experiment-kind.ts';
import { type Failure, failureIn, noteOutcome } from '../run/failure-file.ts';
import { isFinished, type RunTrial, type Trial, type TrialFailure } from '../run/trial.ts';
import { folderOf } from './experiment-folder.ts';
import { type Keep, reduceTrial } from './keep.ts';

/** A part of the trials: every `of`-th, beginning with the `index`-th. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

export function trialsOfShard(experiment: OpenedExperiment, { index, of }: Shard = { index: 0, of: 1 }): Trial[] {
  return trialsOf(experiment).filter((_, place) => place % of === index);
}

/**
 * The trials that are left. A finished one is not, unless language models judged for it: what they are asked, and what they have said,
 * lies in files of their own, and the run looks at these.
 */
export function trialsLeft({ members }: OpenedExperiment, trials: readonly Trial[]): Trial[] {
  const asking = new Set(members.flatMap((member) => (member.resolved.asksModels ? member.trials : [])));
  return trials.filter((trial) => asking.has(trial) || !isFinished(trial.directory));
}

/**
 * Runs what is left of some trials. Those that were cut off go on, those that failed are tried again. A trial that fails does not stop
 * the others.
 */
export async function runTrials(
  experiment: OpenedExperiment,
  run: {
    readonly trials: readonly Trial[];
    readonly runTrial: RunTrial;
    /** The files that finished trials leave behind. */
    readonly keep: Keep;
    readonly signal: AbortSignal;
    readonly onTrials: (counts: { done: number; total: number }) => void;
    readonly onFailure: (trial: Trial, failure: TrialFailure) => void;
  },
): Promise<void> {
  const { trials, runTrial, keep, signal, onTrials, onFailure } = run;
  const left = new Set(trialsLeft(experiment, trials));
  const total = trials.length;
  let done = total - left.size;
  const reduce = ({ directory }: Trial) =>
    reduceTrial(directory, { keep, sharedFolder: join(folderOf(experiment), 'shared') });
  onTrials({ done, total });
  for (const trial of trials) if (!left.has(trial)) reduce(trial);
  await Promise.all(
    Array.from(left, async (trial) => {
      const outcome = await runTrial(trial);
      if (outcome.how === 'interrupted' && signal.aborted) return;
      noteOutcome(trial.directory, outcome);
      if (outcome.how === 'finished') reduce(trial);
      if (outcome.how === 'failed') onFailure(trial, outcome);
      done++;
      onTrials({ done, total });
    }),
  );
}

/** The one list of what failed: in this command, or in another one that ran other trials of the experiment. */
export function failuresOf(
  trials: readonly Trial[],
  now: ReadonlyMap<Trial, TrialFailure>,
): (Failure & { readonly label: string })[] {
  return trials.flatMap((trial) => {
    const failure = now.get(trial) ?? failureIn(trial.directory);
    return failure === null ? [] : [{ ...failure, label: trial.label }];
  });
}
