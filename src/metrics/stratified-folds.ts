import type { Random } from '../tensor/random.ts';

/** A fold number, 0 … `folds` − 1, for each item. Every class is spread over the folds as evenly as possible. */
export function stratifiedFolds(options: { classes: readonly number[]; folds: number; random: Random }): Int32Array {
  const { classes, folds, random } = options;
  const fold = new Int32Array(classes.length);
  // The count continues from class to class. Otherwise small classes would all land in the first folds.
  let dealt = 0;
  for (const label of [...new Set(classes)].sort((left, right) => left - right)) {
    const members = classes.flatMap((other, index) => (other === label ? [index] : []));
    for (const index of random.shuffled(members)) fold[index] = dealt++ % folds;
  }
  return fold;
}
