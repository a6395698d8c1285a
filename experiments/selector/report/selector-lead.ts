import type { VariantResults } from '../../report/kind-report.ts';
import { type Estimate, estimated, overSeeds } from '../../report/shown-numbers.ts';
import { intervalsOf, pairedBySeed } from '../../run/scoring.ts';
import {
  type SelectorDecision,
  type SelectorSystem,
  type SelectorTask,
  selectorName,
  systemNames,
} from '../decisions.ts';
import { keptDecisions, keptModels } from '../kept-models.ts';
import type { SelectorResult } from '../result.ts';
import { selectorScoring, type TaskScores, taskScores } from '../scores.ts';

/** Every system of every variant, as tables name it. */
export function namedSystems(results: readonly VariantResults<SelectorResult>[]) {
  return results.flatMap(({ variant, trials }) =>
    trials[0].systems.map((system) => ({
      system,
      trials,
      name: `${results.length > 1 ? `${variant}: ` : ''}${systemNames[system]}`,
      isMarked: system === selectorName,
    })),
  );
}

const drawing = { only: ['macroF1'], resamples: 500 };

/** A system on one task of one test set. */
interface Scored {
  readonly system: string;
  readonly test: string;
  readonly task: SelectorTask;
}

/** The decisions of a system, by the place of the trial; none where a trial lacks them. */
export function decided(
  trials: readonly SelectorResult[],
  { system, test, task }: Scored,
): ReadonlyMap<number, readonly SelectorDecision[]> {
  const isWanted = (decision: SelectorDecision) =>
    decision.part === 'test' &&
    decision.system === system &&
    decision.place.test === test &&
    decision.place.task === task;
  const all = trials.map(({ decisions }, trial) => [trial, decisions.filter(isWanted)] as const);
  return new Map(all.some(([, decisions]) => decisions.length === 0) ? [] : all);
}

/** Scores of a system, one entry per seed. */
export function taskScoresBySeed(trials: readonly SelectorResult[], of: Scored): TaskScores[] {
  return [...decided(trials, of).values()].flatMap((decisions) => taskScores(of.task, decisions) ?? []);
}

/** Macro-F1 over seeds with its interval over seeds and threads; null where a seed has none. */
export function macroF1Of(trials: readonly SelectorResult[], of: Scored): Estimate | null {
  const seeds = [...decided(trials, of).values()].map((first) => ({ first }));
  if (seeds.length === 0) return null;
  const [interval] = intervalsOf(selectorScoring(of.task), seeds, drawing);
  return { ...estimated(interval), ...overSeeds(taskScoresBySeed(trials, of).map(({ values }) => values.macroF1)) };
}

/** Macro-F1 on one event, over seeds. */
export function macroF1OnEvent(trials: readonly SelectorResult[], event: string | null, of: Scored): Estimate | null {
  const seeds = [...decided(trials, of).values()].map((decisions) => decisions.filter((each) => each.event === event));
  return overSeeds(seeds.map((decisions) => taskScores(of.task, decisions)?.values.macroF1));
}

/** Macro-F1 of a system with the models that each seed keeps; null where no seed had a choice. */
export function keptMacroF1(
  trials: readonly SelectorResult[],
  { system, test, task }: Scored & { readonly system: SelectorSystem },
): Estimate | null {
  if (trials.every(({ decisions }) => keptModels(decisions, system)[task] === null)) return null;
  const scores = trials.map(({ decisions }) => {
    const testDecisions = keptDecisions(decisions, system).filter(
      (each) => each.part === 'test' && each.place.test === test,
    );
    return taskScores(task, testDecisions)?.values.macroF1;
  });
  return overSeeds(scores);
}

/** How far a system leads another in macro-F1, paired: each seed draws its claims and models for all alike. Null where one is missing. */
export function leadOver(
  trials: readonly SelectorResult[],
  { system, other, ...of }: { system: string; other: string; test: string; task: SelectorTask },
): Estimate | null {
  const [ours, theirs] = [system, other].map((name) => decided(trials, { ...of, system: name }));
  const seeds = pairedBySeed(ours, theirs);
  return seeds.length === 0 ? null : estimated(intervalsOf(selectorScoring(of.task), seeds, drawing)[0]);
}
