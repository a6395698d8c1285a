import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { plusMinus } from '../../report/shown-numbers.ts';
import type { SelectorDecision, SelectorSystem, SelectorTask } from '../decisions.ts';
import { keptDecisions, keptModels } from '../kept-models.ts';
import type { SelectorResult } from '../result.ts';
import { scoreTest, selectorIntervals, selectorMetrics, type TaskScores } from '../scores.ts';

/** Of the intervals in a report. */
export const resamples = 500;
const [macroF1] = selectorMetrics;

/** The decisions of a system on a test and task, for each seed. */
export function decided(
  trials: readonly SelectorResult[],
  { system, test, task, event }: { system: string; test: string; task: SelectorTask; event?: string | null },
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

/** What a system scores on a test and task, one entry a seed. */
export function scoresOf(
  trials: readonly SelectorResult[],
  { system, test, task }: { system: string; test: string; task: SelectorTask },
): TaskScores[] {
  return trials.flatMap(({ systems }) => systems.find(({ name }) => name === system)?.tests[test]?.[task] ?? []);
}

/** Mean and deviation over seeds; – without any. */
export function overSeeds(values: readonly number[], options?: Parameters<typeof plusMinus>[1]): string {
  return values.length === 0 ? '–' : plusMinus(meanAndDeviation(values), options);
}

/** Macro-F1 of a system with the models that each seed keeps; nothing where no seed had a choice. */
export function keptMacroF1(
  trials: readonly SelectorResult[],
  { system, test, task }: { system: SelectorSystem; test: string; task: SelectorTask },
): number[] {
  if (trials.every(({ decisions }) => keptModels(decisions, system)[task] === null)) return [];
  return trials.flatMap(({ decisions }) => {
    const own = keptDecisions(decisions, system).filter((each) => each.part === 'test' && each.place.test === test);
    return scoreTest(own)[task]?.values[macroF1.name] ?? [];
  });
}

/** How far a system leads another in macro-F1, paired: each seed draws its claims and models for all alike. Null where one is missing. */
export function leadOver(
  trials: readonly SelectorResult[],
  { own, other, test, task }: { own: string; other: string; test: string; task: SelectorTask },
): MetricInterval | null {
  const [ours, theirs] = [own, other].map((system) => decided(trials, { system, test, task }));
  if (ours.length === 0 || theirs.length === 0) return null;
  const seeds = ours.map((first, index) => ({ first, second: theirs[index] }));
  return selectorIntervals({ task, seeds, seed: 1, resamples, metrics: [macroF1] })[0];
}
