import { fitRowClassifier } from './row-classifier.ts';
import type { ItemSelector } from './selector.ts';

export const seedAgreement: ItemSelector = {
  description: 'the probability of the machine’s label under a model that was trained on the gold labels alone',
  needs: 'seeds',
  async score({ features, classCount, items, seeds }) {
    const model = await fitRowClassifier({ features, classCount, examples: seeds });
    return items.map(({ row, label }) => {
      const score = model(row)[label];
      return { score, reason: `a model of the gold labels gives this label ${score.toFixed(2)}` };
    });
  },
};
