import { groupBy } from '../../src/data/group-by.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { type SweepPlan, shownValue } from './plan.ts';
import type { TrialRow } from './trial-rows.ts';

/** How the objective varies with one swept option, whatever the others are. */
export interface Sensitivity {
  readonly path: string;
  readonly groups: readonly { readonly values: string; readonly trials: number; readonly mean: number }[];
  /** Between the best and the worst mean. */
  readonly spread: number;
  /** Share of the variance of the objective over all trials that lies between the groups (η²); null where nothing varies. */
  readonly explained: number | null;
}

/** More values than this, and numbers are put into four groups of equal size. */
const groupsAtMost = 10;

/** Of every option that is swept; trials without an objective are left out. */
export function sensitivities(plan: SweepPlan, rows: readonly TrialRow[]): Sensitivity[] {
  const scored = rows.flatMap(({ setting, objective }) => (objective === null ? [] : [{ setting, objective }]));
  if (scored.length === 0) return [];
  const whole = mean(scored.map(({ objective }) => objective));
  const total = scored.reduce((sum, { objective }) => sum + (objective - whole) ** 2, 0);
  return Object.keys(plan.sweep.space).map((path) => {
    const nameOf = grouping(scored.map(({ setting }) => setting.point[path]));
    const groups = Array.from(
      groupBy(scored, ({ setting }) => nameOf(setting.point[path])),
      ([values, trials]) => ({ values, trials: trials.length, mean: mean(trials.map(({ objective }) => objective)) }),
    );
    const means = groups.map((group) => group.mean);
    const between = groups.reduce((sum, group) => sum + group.trials * (group.mean - whole) ** 2, 0);
    return {
      path,
      groups,
      spread: Math.max(...means) - Math.min(...means),
      explained: total > 0 ? between / total : null,
    };
  });
}

/** The groups with the highest and the lowest mean, the first of equal ones. */
export function bestAndWorst(groups: Sensitivity['groups']) {
  const ranked = [...groups].sort((a, b) => b.mean - a.mean);
  return { best: ranked[0], worst: ranked[ranked.length - 1] };
}

/** The name of the group that a value of an option belongs to: itself where there are few, else one of four of numbers. */
export function grouping(
  values: readonly unknown[],
  { atMost = groupsAtMost }: { atMost?: number } = {},
): (value: unknown) => string {
  const distinct = [...new Set(values.filter((value) => typeof value === 'number'))].sort((a, b) => a - b);
  if (distinct.length <= atMost || distinct.length < new Set(values).size) return shownValue;
  const starts = [0, 0.25, 0.5, 0.75].map((share) => distinct[Math.floor(share * distinct.length)]);
  return (value) => {
    const group = starts.findLastIndex((start) => Number(value) >= start);
    const next = starts[group + 1];
    return next === undefined ? `from ${starts[group]}` : `${starts[group]} to below ${next}`;
  };
}
