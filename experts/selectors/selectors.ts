import { type SparseMatrix, SparseMatrixBuilder } from '../../src/regression/sparse-matrix.ts';
import { knnShapley } from './knn-shapley.ts';
import type { SelectorName } from './names.ts';
import { fitRowClassifier } from './row-classifier.ts';
import type { ItemSelector, SelectionTask, WeakLabel } from './selector.ts';

export const influence: ItemSelector = {
  description: 'how far a training step on the item lowers the loss on the gold labels',
  needs: 'seeds',
  async score(task) {
    const effects = seedEffects(task);
    return Array.from(effects, (score) => ({
      score,
      reason: `a step on it ${score > 0 ? 'lowers' : score < 0 ? 'raises' : 'does not change'} the loss on the gold labels`,
    }));
  },
};

/**
 * The effect of each item on the seeds: the product of the gradients of its loss and of the seeds' mean loss, classes
 * balanced. To first order, this is how much a step on the item reduces the seeds' loss (TracIn, Pruthi et al., NeurIPS
 * 2020, at one checkpoint). In a softmax regression both gradients are (p − y) xᵀ. The checkpoint is the untrained
 * model, p uniform: a model of the machine's labels has fitted their errors, and its gradients rank them no better than
 * chance.
 */
export function seedEffects({ features, classCount, items, seeds }: SelectionTask): Float64Array {
  const ofSeeds = new Float64Array(features.columns * classCount);
  const counts = new Float64Array(classCount);
  for (const { label } of seeds) counts[label]++;
  for (const seed of seeds)
    forEachEntry(features, seed.row, (column, value) => {
      const error = errorOf(seed.label, classCount);
      for (let label = 0; label < classCount; label++)
        ofSeeds[column * classCount + label] += (value * error[label]) / counts[seed.label];
    });
  return Float64Array.from(items, (item) => {
    const error = errorOf(item.label, classCount);
    let product = 0;
    forEachEntry(features, item.row, (column, value) => {
      for (let label = 0; label < classCount; label++)
        product += value * error[label] * ofSeeds[column * classCount + label];
    });
    return product;
  });
}

/** p − y. */
function errorOf(label: number, classCount: number): Float64Array {
  return Float64Array.from({ length: classCount }, (_, other) => 1 / classCount - Number(other === label));
}

function forEachEntry(features: SparseMatrix, row: number, visit: (column: number, value: number) => void): void {
  for (let entry = features.starts[row]; entry < features.starts[row + 1]; entry++)
    visit(features.indices[entry], features.values[entry]);
}

const seedAgreement: ItemSelector = {
  description: 'the probability of the weak label under a model that was trained on the gold labels alone',
  needs: 'seeds',
  async score({ features, classCount, items, seeds }) {
    const model = await fitRowClassifier({ features, classCount, examples: seeds });
    return items.map(({ row, label }) => {
      const score = model(row)[label];
      return { score, reason: `a model of the gold labels gives this label ${score.toFixed(2)}` };
    });
  },
};

/**
 * Weighted logistic regression of the sign of each item's effect on the seeds, weighted by its size. Its columns are
 * words per label, because "fake" supports one label and contradicts another.
 */
const regression: ItemSelector = {
  description: 'a regression of effects on the gold labels, on the words of a text together with its label',
  needs: 'seeds',
  async score(task) {
    const effects = seedEffects(task);
    const features = wordsWithLabels(task.features, task);
    const size = effects.reduce((sum, effect) => sum + Math.abs(effect), 0) / effects.length || 1;
    const isHelpful = await fitRowClassifier({
      features,
      classCount: 2,
      examples: Array.from(effects, (effect, row) => ({
        row,
        label: effect > 0 ? 1 : 0,
        weight: Math.abs(effect) / size + Number.EPSILON,
      })),
    });
    return task.items.map((_, row) => {
      const [, score] = isHelpful(row);
      return { score, reason: `texts of such words with this label help on the gold labels: ${score.toFixed(2)}` };
    });
  },
};

/** Models that each hold out one part. */
const folds = 5;

/**
 * Labels that are easily learned from the others are more often right (Han et al., "Co-teaching", NeurIPS 2018). The
 * loss is that of a model without the item, because a linear model fits its training items.
 */
const smallLoss: ItemSelector = {
  description: 'the probability of the weak label under a model that was trained on the other weak labels',
  needs: 'nothing',
  async score({ features, classCount, items, random }) {
    const order = random.permutation(items.length);
    const scores = new Float64Array(items.length);
    for (let fold = 0; fold < folds; fold++) {
      const isHeldOut = (place: number) => order[place] % folds === fold;
      const examples = items.filter((_, place) => !isHeldOut(place));
      const model = await fitRowClassifier({ features, classCount, examples });
      for (const [place, { row, label }] of items.entries()) if (isHeldOut(place)) scores[place] = model(row)[label];
    }
    return Array.from(scores, (score) => ({
      score,
      reason: `a model of the other weak labels gives this label ${score.toFixed(2)}`,
    }));
  },
};

const confidence: ItemSelector = {
  description: 'the probability that the machine gave its own label',
  needs: 'confidence',
  score: async ({ items }) =>
    items.map(({ confidence }) => ({
      score: confidence ?? 0,
      reason: confidence === null ? 'no confidence known' : `the machine is ${confidence.toFixed(2)} sure`,
    })),
};

/** With quotas by class, a random selection takes the same share of every weak label. */
const random: ItemSelector = {
  description: 'drawn at random, the same share of every class: what a selector must beat',
  needs: 'nothing',
  score: async (task) => task.items.map(() => ({ score: task.random.uniform(), reason: 'drawn at random' })),
};

export const selectors: Readonly<Record<SelectorName, ItemSelector>> = {
  'seed-agreement': seedAgreement,
  'knn-shapley': knnShapley,
  influence,
  regression,
  confidence,
  'small-loss': smallLoss,
  random,
};

/** One block of columns per label. */
function wordsWithLabels(
  { columns, starts, indices, values }: SparseMatrix,
  { items, classCount }: { items: readonly WeakLabel[]; classCount: number },
): SparseMatrix {
  const builder = new SparseMatrixBuilder({ columns: columns * classCount });
  for (const { row, label } of items) {
    for (let entry = starts[row]; entry < starts[row + 1]; entry++)
      builder.add(label * columns + indices[entry], values[entry]);
    builder.endRow();
  }
  return builder.build();
}
