import type { ScoredSystem } from '../kinds/scores.ts';
import { hasDecisions } from '../run/decisions-file.ts';
import { headlineOf } from '../run/failures.ts';
import { trialEnd } from '../run/trial.ts';
import { conditionsOf, objectiveOf } from './objective.ts';
import { describe, type Setting, type SweepPlan, type SweepTrial } from './plan.ts';
import { rungsOf } from './run-sweep.ts';
import type { Point } from './sample.ts';
import { type SeedInterval, seedInterval } from './seed-interval.ts';
import type { SweepFolder } from './sweep-folder.ts';

/** How a trial stands. stopped: successive halving did not let it go on. */
export type TrialStatus = 'finished' | 'stopped' | 'failed' | 'missing';

/** A trial with what it scores on the development part. Nothing here knows the test. */
export interface TrialRow {
  readonly trial: SweepTrial;
  readonly setting: Setting;
  readonly status: TrialStatus;
  /** Null where the kind of experiment does not count any, or nothing was trained. */
  readonly iterations: number | null;
  readonly systems: readonly ScoredSystem[];
  readonly objective: number | null;
  /** Why it failed. */
  readonly message: string | null;
}

/** A setting, summed up over its seeds. */
export interface SettingSummary {
  readonly id: string;
  readonly label: string;
  readonly point: Point;
  readonly rows: readonly TrialRow[];
  /** Whether every seed is finished: only then can it be recommended. */
  readonly isComplete: boolean;
  /** Whether its means meet `objective.where`. */
  readonly isAllowed: boolean;
  readonly objective: SeedInterval | null;
  readonly values: Readonly<Record<string, SeedInterval | null>>;
}

/** Reads how every trial stands and what it scores on the development part. */
export function readRows(plan: SweepPlan, folder: SweepFolder): TrialRow[] {
  const objective = objectiveOf(plan);
  const { method } = plan.sweep;
  const rungs = method.name === 'halving' ? rungsOf(plan, method).filter((rung) => rung !== null) : [];
  return plan.settings.flatMap((setting) => {
    const { iterations } = plan.kind.resolve(setting.trials[0].config, plan.name);
    return setting.trials.map((trial): TrialRow => {
      const directory = folder.directoryOf(trial);
      const failure = folder.failureOf(trial);
      const nothing = { trial, setting, iterations: null, systems: [], objective: null };
      if (failure !== null) return { ...nothing, status: 'failed', message: headlineOf(failure) };
      const isFinished = trialEnd({ directory, pauseAt: null }) !== null;
      const rung = rungs.findLast((at) => hasDecisions(directory, { developmentAt: at }));
      if (!isFinished && rung === undefined) return { ...nothing, status: 'missing', message: null };
      const at = isFinished || rung === undefined ? 'development' : { developmentAt: rung };
      const systems = plan.kind.score(directory, at);
      return {
        trial,
        setting,
        status: isFinished ? 'finished' : 'stopped',
        iterations: isFinished ? iterations : (rung ?? null),
        systems,
        objective: objective(systems[0].values),
        message: null,
      };
    });
  });
}

/** Means over seeds, settings in the order of the plan. */
export function summarizeSettings(plan: SweepPlan, rows: readonly TrialRow[]): SettingSummary[] {
  const isAllowed = conditionsOf(plan);
  return plan.settings.map((setting) => {
    const own = rows.filter((row) => row.setting === setting);
    const known = own.flatMap(({ objective }) => objective ?? []);
    const values = Object.fromEntries(
      plan.kind.metrics.map(({ name }) => [
        name,
        overSeeds(own.map(({ systems }) => systems[0]?.values[name] ?? null)),
      ]),
    );
    const means = Object.fromEntries(Object.entries(values).map(([name, interval]) => [name, interval?.mean ?? null]));
    const isComplete = own.every(({ status }) => status === 'finished');
    return {
      id: setting.id,
      label: describe(setting.point),
      point: setting.point,
      rows: own,
      isComplete,
      isAllowed: known.length > 0 && isAllowed(means),
      objective: known.length === 0 ? null : seedInterval(known),
      values,
    };
  });
}

function overSeeds(values: readonly (number | null)[]): SeedInterval | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : seedInterval(known);
}

/** A system as a mean over the seeds of one setting. */
export interface SystemMean {
  readonly name: string;
  readonly role: ScoredSystem['role'];
  readonly values: Readonly<Record<string, SeedInterval | null>>;
}

/** Every system of some runs, each as a mean over them, in the order of the first. */
export function meanSystems(runs: readonly (readonly ScoredSystem[])[]): SystemMean[] {
  const names = [...new Set(runs.flatMap((systems) => systems.map(({ name }) => name)))];
  return names.map((name) => {
    const own = runs.flatMap((systems) => systems.filter((system) => system.name === name));
    const metrics = Object.keys(own[0].values);
    return {
      name,
      role: own[0].role,
      values: Object.fromEntries(metrics.map((metric) => [metric, overSeeds(own.map(({ values }) => values[metric]))])),
    };
  });
}
