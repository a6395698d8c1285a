import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { paretoFront } from '../../src/metrics/pareto.ts';
import type { ScoredSystem } from '../kinds/experiment-kind.ts';
import { failureIn } from '../run/failure-file.ts';
import { headlineOf } from '../run/failures.ts';
import { isFinished, type Trial } from '../run/trial.ts';
import { type Expression, parsedExpression } from './expression.ts';
import type { Setting, SweepPlan } from './plan.ts';
import { type SeedInterval, seedInterval, type ValueRange } from './seed-interval.ts';

/** A trial with what it scores on the development part. Nothing here knows the test. */
export interface TrialRow {
  readonly trial: Trial;
  readonly setting: Setting;
  readonly status: 'finished' | 'failed' | 'missing';
  readonly systems: readonly ScoredSystem[];
  readonly objective: number | null;
  /** Why it failed. */
  readonly message: string | null;
  /** Backend and device; null where nothing was trained. */
  readonly trainedOn: string | null;
}

/** A setting, summed up over its seeds. */
export interface SettingSummary extends Setting {
  readonly rows: readonly TrialRow[];
  /** Whether every seed is finished: only then can it lead. */
  readonly isComplete: boolean;
  /** Whether its means meet `objective.where`. */
  readonly isAllowed: boolean;
  readonly objective: SeedInterval | null;
  readonly values: Readonly<Record<string, SeedInterval | null>>;
}

/** Reads how every trial stands and what it scores on the development part. */
export function readRows(plan: SweepPlan): TrialRow[] {
  const objective = objectiveOf(plan);
  return plan.members.flatMap((setting) =>
    setting.trials.map((trial): TrialRow => {
      const { directory } = trial;
      const failure = failureIn(directory);
      const nothing = { trial, setting, systems: [], objective: null, trainedOn: null };
      if (failure !== null) return { ...nothing, status: 'failed', message: headlineOf(failure) };
      if (!isFinished(directory)) return { ...nothing, status: 'missing', message: null };
      const systems = plan.kind.score(directory, 'development');
      const { backend, device } = RunDirectory.open(directory).readRecord();
      return {
        trial,
        setting,
        status: 'finished',
        systems,
        objective: objective(systems[0].values),
        message: null,
        trainedOn: `${backend} (${device})`,
      };
    }),
  );
}

/** Means over seeds, settings in the order of the plan. */
export function summarizeSettings(plan: SweepPlan, rows: readonly TrialRow[]): SettingSummary[] {
  const isAllowed = conditionsOf(plan);
  const aim = plan.kind.metrics.find(({ name }) => name === plan.aim);
  return plan.members.map((setting) => {
    const rowsOfSetting = rows.filter((row) => row.setting === setting);
    const objective = overSeeds(
      rowsOfSetting.map((row) => row.objective),
      aim?.range,
    );
    const values = valuesOverSeeds(
      plan,
      rowsOfSetting.map(({ systems }) => systems[0]?.values ?? {}),
    );
    const means = Object.fromEntries(Object.entries(values).map(([name, interval]) => [name, interval?.mean ?? null]));
    const isComplete = rowsOfSetting.every(({ status }) => status === 'finished');
    return {
      ...setting,
      rows: rowsOfSetting,
      isComplete,
      isAllowed: objective !== null && isAllowed(means),
      objective,
      values,
    };
  });
}

function overSeeds(values: readonly (number | null)[], range?: ValueRange): SeedInterval | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 ? null : seedInterval(numbers, range);
}

/** Every metric of the kind over seeds, by its name; null where no seed knows it. */
function valuesOverSeeds(
  { kind }: Pick<SweepPlan, 'kind'>,
  seeds: readonly Readonly<Record<string, number | null>>[],
): Record<string, SeedInterval | null> {
  return Object.fromEntries(
    kind.metrics.map(({ name, range }) => [
      name,
      overSeeds(
        seeds.map((seed) => seed[name] ?? null),
        range,
      ),
    ]),
  );
}

/** A system as a mean over the seeds of one setting. */
export interface SystemMean {
  readonly name: string;
  readonly role: ScoredSystem['role'];
  readonly values: Readonly<Record<string, SeedInterval | null>>;
}

/** Every system of some runs, each as a mean over them, in the order of the first. */
export function meanSystems(plan: Pick<SweepPlan, 'kind'>, runs: readonly (readonly ScoredSystem[])[]): SystemMean[] {
  const names = [...new Set(runs.flatMap((systems) => systems.map(({ name }) => name)))];
  return names.map((name) => {
    const scored = runs.flatMap((systems) => systems.filter((system) => system.name === name));
    const values = valuesOverSeeds(
      plan,
      scored.map((system) => system.values),
    );
    return { name, role: scored[0].role, values };
  });
}

/** A system in the plane of its aims: a swept setting or a baseline. */
export interface SweepPoint {
  readonly name: string;
  readonly isSwept: boolean;
  readonly macroF1: number;
  readonly er: number;
  /** Queries of the detector per thread. */
  readonly queries: number;
  /** No other system is as good in macro-F1 and ER and better in one of them. */
  readonly isOnFront: boolean;
}

/** Settings and baselines by macro-F1 and ER, means over seeds. Systems that see the labels are left out. */
export function frontPoints(settings: readonly SettingSummary[], baselines: readonly SystemMean[]): SweepPoint[] {
  const swept = settings
    .filter(({ isComplete }) => isComplete)
    .map(({ label, values }) => ({ name: label, isSwept: true, values }));
  const others = baselines
    .filter(({ role }) => role === 'baseline')
    .map(({ name, values }) => ({ name, isSwept: false, values }));
  const points = [...swept, ...others].flatMap(({ name, isSwept, values }) => {
    const [macroF1, er, queries] = [values.macroF1, values.er, values.queriesPerThread].map(
      (value) => value?.mean ?? null,
    );
    return macroF1 === null || er === null || queries === null ? [] : [{ name, isSwept, macroF1, er, queries }];
  });
  const front = paretoFront(points);
  // Of equal points the front has the first.
  const isOnFront = ({ macroF1, er }: (typeof points)[number]) =>
    front.some((other) => other.macroF1 === macroF1 && other.er === er);
  return points.map((point) => ({ ...point, isOnFront: isOnFront(point) }));
}

/** How many trials were trained on each backend and device. */
export function trainedOn(rows: readonly TrialRow[]): Record<string, number> {
  const devices = groupBy(
    rows.filter((row) => row.trainedOn !== null),
    (row) => row.trainedOn ?? '',
  );
  return Object.fromEntries(Array.from(devices, ([device, rows]) => [device, rows.length]));
}

/** Devices of the trials in words; null if nothing was trained. */
export function whereTrained(rows: readonly TrialRow[]): string | null {
  const devices = Object.entries(trainedOn(rows));
  if (devices.length === 0) return null;
  if (devices.length === 1) return `Trained on ${devices[0][0]}`;
  const counts = devices.map(([device, count]) => `${count} on ${device}`).join(', ');
  return `Trained on different backends or processors, whose last digits may differ: ${counts}`;
}

type MetricValues = Readonly<Record<string, number | null>>;

/**
 * The objective of a sweep as a function of a system's metrics; null where it has no finite value: a metric in it is not
 * known (hours of threads without times), or it divides by 0.
 */
export function objectiveOf({ aim }: Pick<SweepPlan, 'aim'>): (values: MetricValues) => number | null {
  const expression = parsedExpression(aim);
  return (values) => {
    const value = evaluated(expression, values);
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
  };
}

/** Whether the means of a setting meet every condition of `objective.where`. A metric that is not known meets none. */
function conditionsOf({ sweep }: Pick<SweepPlan, 'sweep'>): (values: MetricValues) => boolean {
  const conditions = sweep.objective.where.map(parsedExpression);
  return (values) => conditions.every((condition) => evaluated(condition, values) === true);
}

/** Null where a metric that is named is not known. */
function evaluated(expression: Expression, values: MetricValues) {
  const isKnown = expression.names.every((name) => typeof values[name] === 'number');
  return isKnown ? expression.evaluate((name) => values[name]) : null;
}
