import { counted } from '../../src/counted.ts';
import type { SweepPlan } from './plan.ts';
import type { SettingSummary } from './results.ts';
import { seedInterval, shownInterval } from './seed-interval.ts';

export interface Recommendation {
  readonly setting: SettingSummary;
  /** Sentences. */
  readonly why: readonly string[];
}

/**
 * The setting with the highest mean objective of those that are complete, have it with every seed and are allowed, and what
 * speaks for it; null if none is.
 */
export function recommend(plan: SweepPlan, settings: readonly SettingSummary[]): Recommendation | null {
  const { maximise, where } = plan.sweep.objective;
  const aim = maximise ?? plan.kind.objective;
  const complete = settings.filter(({ isComplete }) => isComplete);
  const ranked = complete
    .filter(({ isAllowed }) => isAllowed)
    .flatMap((setting) =>
      setting.objective === null || !isScored(setting) ? [] : [{ setting, objective: setting.objective }],
    )
    .sort((a, b) => b.objective.mean - a.objective.mean);
  const [best, second] = ranked;
  if (best === undefined) return null;
  const why = [
    `It has the highest ${aim} on the development part: ${shownInterval(best.objective, 3)}, ${overSeeds(best.objective.seeds)}, of ${counted(ranked.length, 'setting')}.`,
  ];
  if (where.length > 0)
    why.push(`${ranked.length} of ${counted(complete.length, 'setting')} meet ${where.join(' and ')}.`);
  if (second !== undefined) why.push(againstSecond(best.setting, second.setting));
  if (ranked.length > 1)
    why.push('The best of many is partly the luckiest of many, so its score on the test is expected to be lower.');
  return { setting: best.setting, why };
}

/** Why none is recommended; the end of a sentence. */
export function whyNone({ kind, sweep }: SweepPlan, settings: readonly SettingSummary[]): string {
  const complete = settings.filter(({ isComplete }) => isComplete);
  if (complete.length === 0) return 'no setting is finished with every seed';
  const { maximise, where } = sweep.objective;
  if (!complete.some(isScored))
    return `${maximise ?? kind.objective} has no value with every seed of any setting: a metric in it is not known of these threads, or it divides by 0`;
  return `no setting that is finished with every seed meets ${where.join(' and ')}`;
}

/** Whether every seed has an objective. */
function isScored({ rows }: SettingSummary): boolean {
  return rows.every(({ objective }) => objective !== null);
}

function againstSecond(best: SettingSummary, second: SettingSummary): string {
  const bySeed = new Map(second.rows.map(({ trial, objective }) => [trial.seed, objective]));
  const differences = best.rows.flatMap(({ trial, objective }) => {
    const other = bySeed.get(trial.seed) ?? null;
    return objective === null || other === null ? [] : [objective - other];
  });
  const { mean, low, high } = seedInterval(differences);
  const next = `The next, ${second.label}, is ${mean.toFixed(3)} below`;
  if (low === null || high === null) return `${next}; with one seed nothing says how sure that is.`;
  const range = `paired by seed, 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`;
  return low > 0 ? `${next} (${range}).` : `${next} (${range}): the seeds do not tell the two apart.`;
}

function overSeeds(seeds: number): string {
  return seeds === 1 ? 'one seed' : `mean and 95 % interval over ${seeds} seeds`;
}
