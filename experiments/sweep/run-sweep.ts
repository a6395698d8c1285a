import { join } from 'node:path';
import { InputError } from '../../src/errors.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { runInBatches } from '../run/batched-runs.ts';
import { type EvaluationSplit, hasDecisions } from '../run/decisions-file.ts';
import { type RunGroup, type TrialFailure, trialEnd } from '../run/trial.ts';
import { type Keep, reduceTrial } from './keep.ts';
import { objectiveOf } from './objective.ts';
import type { Setting, SweepPlan, SweepTrial } from './plan.ts';
import type { Method } from './sweep-file.ts';
import type { SweepFolder } from './sweep-folder.ts';
import { trialsOfPlan } from './trials-of-plan.ts';

export interface SweepRun {
  readonly plan: SweepPlan;
  readonly folder: SweepFolder;
  readonly runGroup: RunGroup;
  /** Trials of one shape that are trained in one program, at most. */
  readonly batchedRuns: number;
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
  const { plan, shard } = run;
  const { method } = plan.sweep;
  if (method.name === 'halving') {
    if (shard.of > 1)
      throw new InputError(
        'successive halving compares all trials at every rung, so it cannot be divided into shards; use --queue, or another method',
      );
    await halve(run, method);
  } else {
    const own = trialsOfPlan(plan).filter((_, index) => index % shard.of === shard.index);
    await runAll(run, own, { pauseAt: null });
  }
}

async function runAll(
  { folder, batchedRuns, keep, runGroup: run, signal, onTrials, onFailure }: SweepRun,
  trials: readonly SweepTrial[],
  { pauseAt }: { pauseAt: number | null },
): Promise<void> {
  const { runs } = folder;
  let done = 0;
  const tell = () => onTrials({ done, total: trials.length });
  tell();
  await runInBatches(
    trials.map((trial) => ({ ...trial, directory: folder.directoryOf(trial), runs, pauseAt })),
    {
      batchedRuns,
      run,
      known: trialEnd,
      onEnded(ended) {
        for (const { trial, outcome } of ended) {
          if (outcome.how === 'interrupted' && signal.aborted) continue;
          folder.note(trial, outcome);
          if (outcome.how === 'finished')
            reduceTrial(folder.directoryOf(trial), { keep, sharedFolder: join(folder.path, 'shared') });
          if (outcome.how === 'failed') onFailure(trial, outcome);
          done++;
        }
        tell();
      },
    },
  );
}

/**
 * Successive halving (K. Jamieson & A. Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
 * AISTATS 2016). A rung is a pause, not a shorter training: the learning rate falls over all iterations from the first, so
 * that a setting that goes on ends as the very run that was never paused.
 */
async function halve(run: SweepRun, { firstRung, factor }: Extract<Method, { name: 'halving' }>): Promise<void> {
  const { plan, folder, signal } = run;
  const rungs = rungsOf(plan, { firstRung, factor });
  const objective = objectiveOf(plan);
  let settings: readonly Setting[] = plan.settings;
  for (const pauseAt of rungs) {
    await runAll(
      run,
      settings.flatMap(({ trials }) => trials),
      { pauseAt },
    );
    if (signal.aborted || pauseAt === null) return;
    const scored = settings.flatMap((setting) => {
      const means = setting.trials.map((trial) => {
        const directory = folder.directoryOf(trial);
        const end = folder.failureOf(trial) === null ? trialEnd({ directory, pauseAt }) : null;
        if (end === null) return null;
        // A trial that went on since counts with what it was at the rung. One without a rung was finished by another method.
        const atRung: EvaluationSplit = { developmentAt: pauseAt };
        const part = hasDecisions(directory, atRung) ? atRung : 'development';
        return objective(plan.kind.score(directory, part)[0].values);
      });
      const known = means.filter((value) => value !== null);
      // A setting of which a seed failed cannot be compared with the others.
      if (known.length < means.length) return [];
      return [{ setting, score: mean(known) }];
    });
    scored.sort((a, b) => b.score - a.score);
    settings = scored.slice(0, Math.ceil(settings.length / factor)).map(({ setting }) => setting);
  }
}

/** The iterations at which settings are compared; null for the end. */
export function rungsOf(
  { settings, name }: SweepPlan,
  { firstRung, factor }: { firstRung: number; factor: number },
): (number | null)[] {
  const totals = new Set(settings.map(({ resolved }) => resolved.iterations));
  const [iterations] = totals;
  if (totals.size !== 1 || iterations === null)
    throw new InputError(
      `${name}: successive halving pauses stop agents at the same iterations; ${iterations === null ? 'a selector cannot be paused' : 'agent.iterations cannot be swept with it'}. Use another method`,
    );
  const rungs: (number | null)[] = [];
  for (let rung = firstRung; rung < iterations; rung *= factor) rungs.push(rung);
  if (rungs.length === 0)
    throw new InputError(
      `${name}: method.firstRung is ${firstRung}, and the experiment has only ${iterations} iterations; give a smaller one`,
    );
  return [...rungs, null];
}
