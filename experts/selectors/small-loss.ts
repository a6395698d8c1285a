import { fitRowClassifier } from './row-classifier.ts';
import type { ItemSelector } from './selector.ts';

/** Models that each hold one part out. */
const folds = 5;

/**
 * Labels that are easily learnt from the others are more often right (Han et al., "Co-teaching", NeurIPS 2018). The loss is
 * that of a model that has not seen the item, since a linear one fits what it has seen.
 */
export const smallLoss: ItemSelector = {
  description: 'the probability of the machine’s label under a model that was trained on the other machine labels',
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
      reason: `a model of the other machine labels gives this label ${score.toFixed(2)}`,
    }));
  },
};
