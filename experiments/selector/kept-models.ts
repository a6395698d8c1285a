import { directionOf } from '../report/shown-numbers.ts';
import { intervalsOf } from '../run/scoring.ts';
import { type SelectorDecision, type SelectorSystem, type SelectorTask, taskOf } from './decisions.ts';
import { selectorScoring, taskScores } from './scores.ts';
import { isTextBaseline } from './text-baselines.ts';

/** The choice between tuned and untuned models for one task, with the scores behind it. */
export interface KeptModels {
  readonly isTuned: boolean;
  /** True if the tuned models are measurably worse, not only not better. */
  readonly isHarmed: boolean;
  /** Macro-F1 on the held-out items. */
  readonly tuned: number;
  readonly untuned: number;
  readonly items: number;
}
export type KeptByTask = Readonly<Record<SelectorTask, KeptModels | null>>;

/** Fewer held-out items tell nothing. */
const fewestItems = 20;

/**
 * Chooses between tuned and untuned models per task: tuned ones need a measurably higher macro-F1 on the items held out
 * from the tests (95% interval over threads). The test part is not read. Null for fewer than 20 held-out items, equal
 * predictions, or a system without task models.
 * @param decisions of a run, including those of the untuned models
 */
export function keptModels(decisions: readonly SelectorDecision[], system: SelectorSystem): KeptByTask {
  const ofRun = judged.get(decisions) ?? new Map<SelectorSystem, KeptByTask>();
  judged.set(decisions, ofRun);
  const choice = ofRun.get(system) ?? judge(decisions, system);
  ofRun.set(system, choice);
  return choice;
}

/** Reports ask several times about a run. */
const judged = new WeakMap<readonly SelectorDecision[], Map<SelectorSystem, KeptByTask>>();

function judge(decisions: readonly SelectorDecision[], system: SelectorSystem): KeptByTask {
  if (isTextBaseline(system)) return { stance: null, veracity: null };
  const heldOut = decisions.filter(({ part }) => part === 'development');
  const keptFor = (task: SelectorTask): KeptModels | null => {
    const of = (name: SelectorSystem) =>
      heldOut.filter((decision) => decision.system === name && taskOf(decision) === task);
    const [decided, others] = [of(system), of('untuned')];
    if (
      decided.length < fewestItems ||
      decided.every(({ prediction }, place) => prediction === others[place]?.prediction)
    )
      return null;
    const [tuned, untuned] = [decided, others].map((decisionsOf) => taskScores(task, decisionsOf));
    if (tuned === null || untuned === null) return null;
    const drawing = { only: ['macroF1'], resamples: 500 };
    const [lead] = intervalsOf(selectorScoring(task), [{ first: decided, second: others }], drawing);
    const direction = directionOf(lead);
    const [ofTuned, ofUntuned] = [tuned.values.macroF1, untuned.values.macroF1];
    return { isTuned: direction > 0, isHarmed: direction < 0, tuned: ofTuned, untuned: ofUntuned, items: tuned.items };
  };
  return { stance: keptFor('stance'), veracity: keptFor('veracity') };
}

/** The decisions of a system, with those of the untuned models for each task that keeps them. */
export function keptDecisions(decisions: readonly SelectorDecision[], system: SelectorSystem): SelectorDecision[] {
  const choice = keptModels(decisions, system);
  const sourceOf = (task: SelectorTask) => (choice[task]?.isTuned === false ? 'untuned' : system);
  return decisions.flatMap((decision) =>
    decision.system === sourceOf(taskOf(decision)) ? [{ ...decision, system }] : [],
  );
}
