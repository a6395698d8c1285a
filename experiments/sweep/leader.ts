import { counted } from '../../src/counted.ts';
import type { SweepPlan } from './plan.ts';
import { type SeedInterval, seedInterval, shownInterval } from './seed-interval.ts';
import type { SettingSummary } from './trial-rows.ts';

/** The setting with the highest mean objective, and whether the seeds tell it from every other. */
export interface Leader {
  readonly setting: SettingSummary;
  /** Only then is it recommended. */
  readonly isToldApart: boolean;
  /** The answer of the sweep; a sentence without its capital. */
  readonly conclusion: string;
  /** Sentences. */
  readonly why: readonly string[];
}

/**
 * The leader of the settings that are complete, have an objective with every seed and are allowed; null if none is. It is told
 * apart where the paired difference to each of the others has a 95% interval (Student's t over seeds) above 0: of settings
 * that are alike, all of these intervals are above 0 less often than any one of them.
 */
export function leaderOf(plan: SweepPlan, settings: readonly SettingSummary[]): Leader | null {
  const { where } = plan.sweep.objective;
  const complete = settings.filter(({ isComplete }) => isComplete);
  const ranked = complete
    .filter(({ isAllowed }) => isAllowed)
    .flatMap((setting) =>
      setting.objective === null || !isScored(setting) ? [] : [{ setting, objective: setting.objective }],
    )
    .sort((a, b) => b.objective.mean - a.objective.mean);
  const [best, ...others] = ranked;
  if (best === undefined) return null;
  const gaps = others.map(({ setting }) => ({ setting, gap: gapBetween(best.setting, setting) }));
  const alike = gaps.filter(({ gap }) => gap.low === null || gap.low <= 0);
  const why = [
    `It has the highest ${plan.aim} on the development part: ${shownInterval(best.objective, 3)}, ${overSeeds(best.objective)}, of ${counted(ranked.length, 'setting')}.`,
  ];
  if (where.length > 0)
    why.push(`${ranked.length} of ${counted(complete.length, 'setting')} meet ${where.join(' and ')}.`);
  if (gaps.length > 0) why.push(againstNext(gaps[0]));
  if (ranked.length > 1)
    why.push('The best of many is partly the luckiest of many, so its score on the test is expected to be lower.');
  const isToldApart = alike.length === 0;
  return {
    setting: best.setting,
    isToldApart,
    conclusion: isToldApart
      ? `${best.setting.label} is recommended`
      : `no setting is recommended, because ${whyAlike(best, alike)}`,
    why,
  };
}

/** Why there is no leader; the end of a sentence. */
export function whyNone({ aim, sweep }: SweepPlan, settings: readonly SettingSummary[]): string {
  const complete = settings.filter(({ isComplete }) => isComplete);
  if (complete.length === 0) return 'no setting is finished with every seed';
  if (!complete.some(isScored))
    return `${aim} has no value with every seed of any setting: a metric in it is not known of these threads, or it divides by 0`;
  return `no setting that is finished with every seed meets ${sweep.objective.where.join(' and ')}`;
}

/** Whether every seed has an objective. */
function isScored({ rows }: SettingSummary): boolean {
  return rows.every(({ objective }) => objective !== null);
}

/** How far the first is above the other, paired by seed. */
function gapBetween(best: SettingSummary, other: SettingSummary): SeedInterval {
  const bySeed = new Map(other.rows.map(({ trial, objective }) => [trial.seed, objective]));
  return seedInterval(
    best.rows.flatMap(({ trial, objective }) => {
      const beside = bySeed.get(trial.seed) ?? null;
      return objective === null || beside === null ? [] : [objective - beside];
    }),
  );
}

function whyAlike(
  { setting, objective }: { setting: SettingSummary; objective: SeedInterval },
  [next, ...others]: readonly { setting: SettingSummary; gap: SeedInterval }[],
): string {
  const { seeds } = objective;
  if (seeds === 1) return 'one seed tells no setting from another; give at least three';
  const rest = others.length === 0 ? '' : ` or ${counted(others.length, 'other')}`;
  if (next.gap.low === null)
    return `with each of ${seeds} seeds the difference between ${setting.label} and ${next.setting.label} is the same, so nothing tells how much it varies; give more seeds, and more threads to the development part`;
  const alike = `${seeds} seeds do not tell ${setting.label} from ${next.setting.label}${rest}`;
  const more = seedsToTell(next.gap) - seeds;
  return more > seedsAtMost
    ? `${alike}, nor would ${seedsAtMost} more`
    : `${alike}; about ${counted(more, 'more seed')} would if the differences stay as they are`;
}

/** Nobody runs more than these to tell two settings apart. */
const seedsAtMost = 100;

/** How many seeds the interval needs to be above 0 with this mean and spread; large without end where they are the same. */
function seedsToTell({ mean, low, seeds }: SeedInterval): number {
  if (low === null || mean <= 0) return Infinity;
  // The half width falls with the root of the number of seeds, a little faster where they are few.
  return Math.max(seeds + 1, Math.ceil(seeds * ((mean - low) / mean) ** 2));
}

function againstNext({ setting, gap: { mean, low, high } }: { setting: SettingSummary; gap: SeedInterval }): string {
  const next = `The next, ${setting.label}, is ${mean.toFixed(3)} below`;
  if (low === null || high === null) return `${next}.`;
  return `${next} (paired by seed, 95% interval ${low.toFixed(3)} to ${high.toFixed(3)}).`;
}

function overSeeds({ seeds, low }: SeedInterval): string {
  if (seeds === 1) return 'one seed';
  return low === null
    ? `the same with each of ${seeds} seeds, which leaves no interval`
    : `mean and 95% interval over ${seeds} seeds`;
}
