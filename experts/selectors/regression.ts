import { type SparseMatrix, SparseMatrixBuilder } from '../../src/regression/sparse-matrix.ts';
import { seedEffects } from './influence.ts';
import { fitRowClassifier } from './row-classifier.ts';
import type { ItemSelector, WeakLabel } from './selector.ts';

/**
 * Weighted logistic regression of the sign of each item's effect on the seeds, weighted by its size. Its columns are
 * words per label, because "fake" supports one label and contradicts another.
 */
export const regression: ItemSelector = {
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
