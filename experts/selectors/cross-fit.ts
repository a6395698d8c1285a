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
export async function crossFit(options: {
  task: Omit<SelectionTask, 'seeds' | 'random'>;
  words: SparseMatrix;
  gold: readonly GoldRow[];
  names: readonly SelectorName[];
  share: number;
  seed: number;
  controls?: boolean;
  onFold?: (done: number, total: number) => void;
}): Promise<CrossFitted> {
  const { task, words, gold, share, seed, controls = true, onFold = () => {} } = options;
  const { classCount, items } = task;
  const names = options.names.filter((name) => name !== 'random');
  const labelled = { ...task, items: [...items, ...gold.flatMap(({ machine }) => machine ?? [])] };
  const fixed = await scoresWithoutSeeds({ task: labelled, names, seed });
  const heldOut = new Map<string, HeldOut>();
  const recordOf = (trainedOn: string) => {
    const record = heldOut.get(trainedOn) ?? { predicted: [], logLikelihoods: [], taken: 0, takenRight: 0 };
    heldOut.set(trainedOn, record);
    return record;
  };
  const allFolds = foldsOf(gold, seed);

  for (const [index, { repetition, seeds, unseen, random }] of allFolds.entries()) {
    const candidates = [...items, ...unseen.flatMap((place) => gold[place].machine ?? [])];
    const rightLabels = new Map(unseen.map((place) => [gold[place].machine, gold[place].label]));
    /** @param set the set of predictions that this fold is part of */
    const predict = async (
      trainedOn: string,
      examples: readonly RowExample[],
      { set = repetition, ofGold = [] }: { set?: number; ofGold?: readonly WeakLabel[] } = {},
    ) => {
      const model = await fitRowClassifier({ features: words, classCount, examples });
      const record = recordOf(trainedOn);
      record.predicted[set] ??= new Int32Array(gold.length);
      record.logLikelihoods[set] ??= new Float64Array(gold.length);
      for (const place of unseen) {
        const probabilities = model(gold[place].row);
        record.predicted[set][place] = likeliest(probabilities);
        record.logLikelihoods[set][place] = Math.log(Math.max(leastProbability, probabilities[gold[place].label]));
      }
      record.taken += ofGold.length;
      record.takenRight += ofGold.filter((item) => item.label === rightLabels.get(item)).length;
    };
    /** Held-out gold rows are among the items, so that the share of right weak labels is known. Nothing is trained on them. */
    const select = (name: SelectorName, scores: ArrayLike<number>, set?: number) => {
      const taken = takeShare({ items: candidates, scores, share }).map((place) => candidates[place]);
      const [ofGold, others] = [true, false].map((isGold) => taken.filter((item) => rightLabels.has(item) === isGold));
      return predict(name, [...seeds, ...others], { set, ofGold });
    };
    if (controls) {
      await predict('gold-alone', seeds);
      await predict('all', [...seeds, ...items]);
    }
    for (const name of names) {
      const fixedScores = fixed.get(name);
      const ofScores = Random.seeded({ seed, purpose: `scores by ${name}` });
      const scores =
        fixedScores === undefined
          ? await selectors[name].score({ ...task, items: candidates, seeds, random: ofScores })
          : candidates.map((item) => ({ score: fixedScores.get(item) ?? 0 }));
      await select(
        name,
        scores.map(({ score }) => score),
      );
    }
    if (controls) {
      const setOf = (draw: number) => repetition * draws + draw;
      const randomScores = Array.from({ length: draws }, () => candidates.map(() => random.uniform()));
      const right = seeds.flatMap(({ machine, label }) => (machine?.label === label ? [machine] : []));
      const all = seeds.flatMap(({ machine }) => machine ?? []);
      for (const [draw, scores] of randomScores.entries()) await select('random', scores, setOf(draw));
      await predict(roomNames.right, right);
      for (let draw = 0; draw < draws; draw++)
        await predict(roomNames.random, alikeByClass(all, { like: right, random }), { set: setOf(draw) });
    }
    onFold(index + 1, allFolds.length);
  }

  const room = { right: recordOf(roomNames.right), random: recordOf(roomNames.random) };
  for (const name of Object.values(roomNames)) heldOut.delete(name);
  const chosen = recordOf('chosen');
  for (let repetition = 0; repetition < repetitions; repetition++) {
    chosen.predicted.push(new Int32Array(gold.length));
    chosen.logLikelihoods.push(new Float64Array(gold.length));
    for (const { unseen } of allFolds.filter((fold) => fold.repetition === repetition)) {
      const isUnseen = new Set(unseen);
      const best = bestOf(names, (name) =>
        sumWhere(recordOf(name).logLikelihoods[repetition], (place) => !isUnseen.has(place)),
      );
      for (const place of unseen) {
        chosen.predicted[repetition][place] = recordOf(best).predicted[repetition][place];
        chosen.logLikelihoods[repetition][place] = recordOf(best).logLikelihoods[repetition][place];
      }
    }
  }
  const total = (name: SelectorName) =>
    recordOf(name).logLikelihoods.reduce((sum, likelihoods) => sum + sumWhere(likelihoods, () => true), 0);
  return { heldOut, room, chosen: bestOf(names, total) };
}

const roomNames = { right: 'right weak labels', random: 'random weak labels' } as const;

/** The folds of all repetitions. Those of one draw from the same stream, in their order. */
function foldsOf(gold: readonly GoldRow[], seed: number) {
  return Array.from({ length: repetitions }, (_, repetition) => {
    const random = Random.seeded({ seed, purpose: `folds of gold rows ${repetition}` });
    const foldOf = stratifiedFolds({ classes: gold.map(({ label }) => label), folds, random });
    return Array.from({ length: folds }, (_, fold) => ({
      repetition,
      seeds: gold.filter((_, place) => foldOf[place] !== fold),
      unseen: [...gold.keys()].filter((place) => foldOf[place] === fold),
      random,
    }));
  }).flat();
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
