import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import type { Estimate } from '../../report/shown-numbers.ts';
import type { SelectorDecision, SelectorSystem, SelectorTask } from '../decisions.ts';
import { keptDecisions, keptModels } from '../kept-models.ts';
import type { SelectorResult } from '../result.ts';
import { scoreTest, selectorIntervals, selectorMetrics, type TaskScores } from '../scores.ts';

const [macroF1] = selectorMetrics;
const drawing = { seed: 1, resamples: 500, metrics: [macroF1] };

/** A system on one task of one test set. */
interface Scored {
  readonly system: string;
  readonly test: string;
  readonly task: SelectorTask;
  readonly event?: string | null;
}

/** The decisions of a system, for each seed; none where a seed lacks them. */
export function decided(
  trials: readonly SelectorResult[],
  { system, test, task, event }: Scored,
): SelectorDecision[][] {
  const seeds = trials.map(({ decisions }) =>
    decisions.filter(
      (own) =>
        own.part === 'test' &&
        own.system === system &&
        own.place.test === test &&
        own.place.task === task &&
        (event === undefined || own.event === event),
    ),
  );
  return seeds.some((own) => own.length === 0) ? [] : seeds;
}

/** What a system scores, one entry per seed. */
export function scoresOf(trials: readonly SelectorResult[], { system, test, task }: Scored): TaskScores[] {
  return trials.flatMap(({ systems }) => systems.find(({ name }) => name === system)?.tests[test]?.[task] ?? []);
}

/** Mean and deviation over seeds; null without any. */
export function overSeeds(values: readonly number[]): Estimate | null {
  return values.length === 0 ? null : meanAndDeviation(values);
}

/** Macro-F1 over seeds with its interval over seeds and threads; null where a seed has none. */
export function macroF1Of(trials: readonly SelectorResult[], of: Scored): Estimate | null {
  const seeds = decided(trials, of);
  if (seeds.length === 0) return null;
  const [interval] = selectorIntervals({ ...drawing, task: of.task, seeds: seeds.map((first) => ({ first })) });
  return { ...meanAndDeviation(scoresOf(trials, of).map(({ values }) => values[macroF1.name])), interval };
}

/** Macro-F1 on one event, over seeds. */
export function macroF1OnEvent(trials: readonly SelectorResult[], of: Scored): Estimate | null {
  return overSeeds(
    decided(trials, of).flatMap((decisions) => scoreTest(decisions)[of.task]?.values[macroF1.name] ?? []),
  );
}

/** Macro-F1 of a system with the models that each seed keeps; null where no seed had a choice. */
export function keptMacroF1(
  trials: readonly SelectorResult[],
  { system, test, task }: Scored & { readonly system: SelectorSystem },
): Estimate | null {
  if (trials.every(({ decisions }) => keptModels(decisions, system)[task] === null)) return null;
  const scores = trials.flatMap(({ decisions }) => {
    const own = keptDecisions(decisions, system).filter((each) => each.part === 'test' && each.place.test === test);
    return scoreTest(own)[task]?.values[macroF1.name] ?? [];
  });
  return overSeeds(scores);
}

/** How far a system leads another in macro-F1, paired: each seed draws its claims and models for all alike. Null where one is missing. */
export function leadOver(
  trials: readonly SelectorResult[],
  { own, other, test, task }: { own: string; other: string; test: string; task: SelectorTask },
): (Estimate & Required<Pick<Estimate, 'interval'>> & { readonly interval: { low: number; high: number } }) | null {
  const [ours, theirs] = [own, other].map((system) => decided(trials, { system, test, task }));
  if (ours.length === 0 || theirs.length === 0) return null;
  const seeds = ours.map((first, index) => ({ first, second: theirs[index] }));
  const [{ estimate, low, high }] = selectorIntervals({ ...drawing, task, seeds });
  return { mean: estimate, interval: { low, high } };
}
