import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import type { ItemSelector, SelectionTask } from './selector.ts';

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
