import { likeliest } from '../../src/likeliest.ts';
import { stratifiedFolds } from '../../src/metrics/stratified-folds.ts';
import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import { Random } from '../../src/tensor/random.ts';
import type { HeldOut } from './held-out.ts';
import type { SelectorName } from './names.ts';
import { fitRowClassifier, type RowExample } from './row-classifier.ts';
import type { Seed, SelectionTask, WeakLabel } from './selector.ts';
import { selectors } from './selectors.ts';
import { alikeByClass, takeShare } from './take-share.ts';

/** A row labelled by people, with the machine's label; null without one. */
export interface GoldRow extends Seed {
  readonly machine: WeakLabel | null;
}

export interface CrossFitted {
  /**
   * Predictions by training set: `gold-alone` of the other folds, or that gold with `all` items or a selector's;
   * `chosen` follows the best selector.
   */
  readonly heldOut: ReadonlyMap<string, HeldOut>;
  /** Models trained on weak labels of gold rows alone: the right ones, or as many random ones of each class. */
  readonly room: { readonly right: HeldOut; readonly random: HeldOut };
  /** The selector under which held-out gold is likeliest. */
  readonly chosen: SelectorName;
}

const folds = 5;
const repetitions = 3;
const draws = 3;
/** The lower limit of p, so that a class that was never trained on is not infinitely unlikely. */
const leastProbability = 1e-4;

/** Predictions of one set of models for the held-out gold rows of a fold, in their order; see `HeldOut`. */
interface FoldPrediction extends Pick<HeldOut, 'taken' | 'takenRight'> {
  readonly predicted: readonly number[];
  readonly logLikelihoods: readonly number[];
}

/** The predictions of a fold by training set, as JSON. */
export type FoldFit = Readonly<Record<string, readonly FoldPrediction[]>>;

/**
 * Measures each selector on held-out gold. Gold rows are dealt into five folds. With the gold of four, a selector
 * scores the items, and a model trained on that gold and the best items predicts the fifth; three times, with other
 * folds. The chosen selector gives held-out gold the highest mean log-likelihood, which 200 rows measure better than
 * macro-F1. `chosen` predicts each fold by the selector that is best on the others, so it does not profit from the
 * choice.
 * @param options.words features of the trained model, one row per row of the task's features, which selectors read
 * @param options.names candidates
 * @param options.controls whether gold alone, all items, random selections and the room are measured, too; the choice
 *   needs none of them
 */
export async function crossFitter(options: {
  task: Omit<SelectionTask, 'seeds' | 'random'>;
  words: SparseMatrix;
  gold: readonly GoldRow[];
  names: readonly SelectorName[];
  share: number;
  seed: number;
  controls?: boolean;
}) {
  const { task, words, gold, share, seed, controls = true } = options;
  const { classCount, items } = task;
  const names = options.names.filter((name) => name !== 'random');
  const labelled = { ...task, items: [...items, ...gold.flatMap(({ machine }) => machine ?? [])] };
  const fixed = await scoresWithoutSeeds({ task: labelled, names, seed });
  const plans = plannedFolds(options);

  async function fit(fold: number): Promise<FoldFit> {
    const { seeds, unseen, candidates, randomScores, right, alike } = plans[fold];
    const rightLabels = new Map(unseen.map((place) => [gold[place].machine, gold[place].label]));
    const predictions: Record<string, FoldPrediction[]> = {};
    const predict = async (trainedOn: string, examples: readonly RowExample[], ofGold: readonly WeakLabel[] = []) => {
      const model = await fitRowClassifier({ features: words, classCount, examples });
      const probabilities = unseen.map((place) => model(gold[place].row));
      predictions[trainedOn] ??= [];
      predictions[trainedOn].push({
        predicted: probabilities.map(likeliest),
        logLikelihoods: unseen.map((place, index) =>
          Math.log(Math.max(leastProbability, probabilities[index][gold[place].label])),
        ),
        taken: ofGold.length,
        takenRight: ofGold.filter((item) => item.label === rightLabels.get(item)).length,
      });
    };
    /** Held-out gold rows are among the items, so that the share of right weak labels is known. Nothing is trained on them. */
    const select = (name: SelectorName, scores: ArrayLike<number>) => {
      const taken = takeShare({ items: candidates, scores, share }).map((place) => candidates[place]);
      const [ofGold, others] = [true, false].map((isGold) => taken.filter((item) => rightLabels.has(item) === isGold));
      return predict(name, [...seeds, ...others], ofGold);
    };
    if (controls) {
      await predict('gold-alone', seeds);
      await predict('all', [...seeds, ...items]);
    }
    for (const name of names) {
      const fixedScores = fixed.get(name);
      const random = Random.seeded({ seed, purpose: `scores by ${name}` });
      await select(
        name,
        fixedScores === undefined
          ? (await selectors[name].score({ ...task, items: candidates, seeds, random })).map(({ score }) => score)
          : candidates.map((item) => fixedScores.get(item) ?? 0),
      );
    }
    if (!controls) return predictions;
    for (const scores of randomScores) await select('random', scores);
    await predict(roomNames.right, right);
    for (const random of alike) await predict(roomNames.random, random);
    return predictions;
  }

  return {
    /** The number of folds over all repetitions. */
    folds: plans.length,
    /** Depends on its fold alone, so any process may call it. */
    fit,
    merged: (fits: readonly FoldFit[]) => merged(fits, { names, plans, gold }),
  };
}

const roomNames = { right: 'right weak labels', random: 'random weak labels' } as const;

/** The gold rows and random draws of each fold. All are drawn here, so that no fold depends on another. */
function plannedFolds({ task, gold, seed }: Pick<Parameters<typeof crossFitter>[0], 'task' | 'gold' | 'seed'>) {
  return Array.from({ length: repetitions }, (_, repetition) => {
    const random = Random.seeded({ seed, purpose: `folds of gold rows ${repetition}` });
    const foldOf = stratifiedFolds({ classes: gold.map(({ label }) => label), folds, random });
    return Array.from({ length: folds }, (_, fold) => {
      const seeds = gold.filter((_, place) => foldOf[place] !== fold);
      const unseen = [...gold.keys()].filter((place) => foldOf[place] === fold);
      const candidates = [...task.items, ...unseen.flatMap((place) => gold[place].machine ?? [])];
      const randomScores = Array.from({ length: draws }, () => candidates.map(() => random.uniform()));
      const right = seeds.flatMap(({ machine, label }) => (machine?.label === label ? [machine] : []));
      const all = seeds.flatMap(({ machine }) => machine ?? []);
      const alike = Array.from({ length: draws }, () => alikeByClass(all, { like: right, random }));
      return { seeds, unseen, candidates, randomScores, right, alike };
    });
  }).flat();
}

function merged(
  fits: readonly FoldFit[],
  of: { names: readonly SelectorName[]; plans: ReturnType<typeof plannedFolds>; gold: readonly GoldRow[] },
): CrossFitted {
  const { names, plans, gold } = of;
  const records = new Map<string, HeldOut>();
  const recordOf = (trainedOn: string) => {
    const record = records.get(trainedOn) ?? { predicted: [], logLikelihoods: [], taken: 0, takenRight: 0 };
    records.set(trainedOn, record);
    return record;
  };
  for (const [index, fit] of fits.entries())
    for (const [trainedOn, sets] of Object.entries(fit)) {
      const record = recordOf(trainedOn);
      for (const [setOfFold, { predicted, logLikelihoods, taken, takenRight }] of sets.entries()) {
        const set = Math.floor(index / folds) * sets.length + setOfFold;
        record.predicted[set] ??= new Int32Array(gold.length);
        record.logLikelihoods[set] ??= new Float64Array(gold.length);
        for (const [at, place] of plans[index].unseen.entries()) {
          record.predicted[set][place] = predicted[at];
          record.logLikelihoods[set][place] = logLikelihoods[at];
        }
        record.taken += taken;
        record.takenRight += takenRight;
      }
    }
  const room = { right: recordOf(roomNames.right), random: recordOf(roomNames.random) };
  for (const name of Object.values(roomNames)) records.delete(name);
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const chosen = recordOf('chosen');
    chosen.predicted.push(new Int32Array(gold.length));
    chosen.logLikelihoods.push(new Float64Array(gold.length));
    for (const { unseen } of plans.slice(repetition * folds, (repetition + 1) * folds)) {
      const heldOut = new Set(unseen);
      const best = bestOf(names, (name) =>
        sumWhere(recordOf(name).logLikelihoods[repetition], (place) => !heldOut.has(place)),
      );
      for (const place of unseen) {
        chosen.predicted[repetition][place] = recordOf(best).predicted[repetition][place];
        chosen.logLikelihoods[repetition][place] = recordOf(best).logLikelihoods[repetition][place];
      }
    }
  }
  const total = (name: SelectorName) =>
    recordOf(name).logLikelihoods.reduce((sum, likelihoods) => sum + sumWhere(likelihoods, () => true), 0);
  return { heldOut: records, room, chosen: bestOf(names, total) };
}

/** Scores without gold are the same in every fold. */
async function scoresWithoutSeeds(options: {
  task: Omit<SelectionTask, 'seeds' | 'random'>;
  names: readonly SelectorName[];
  seed: number;
}): Promise<Map<SelectorName, Map<WeakLabel, number>>> {
  const { task, names, seed } = options;
  const fixed = new Map<SelectorName, Map<WeakLabel, number>>();
  for (const name of names) {
    if (selectors[name].needs === 'seeds') continue;
    const random = Random.seeded({ seed, purpose: `scores by ${name}` });
    const scores = await selectors[name].score({ ...task, seeds: [], random });
    fixed.set(name, new Map(task.items.map((item, place) => [item, scores[place].score])));
  }
  return fixed;
}

function bestOf(names: readonly SelectorName[], scoreOf: (name: SelectorName) => number): SelectorName {
  return names.reduce((best, name) => (scoreOf(name) > scoreOf(best) ? name : best));
}

function sumWhere(values: Float64Array, isMeant: (place: number) => boolean): number {
  return values.reduce((sum, value, place) => sum + (isMeant(place) ? value : 0), 0);
}
