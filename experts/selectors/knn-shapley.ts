import type { ItemSelector } from './selector.ts';

const neighbours = 5;

/**
 * The Shapley value of each item for a classifier of the K nearest neighbours, tested on the seeds, classes balanced (Jia et al.,
 * "Efficient Task-Specific Data Valuation for Nearest Neighbor Algorithms", VLDB 2019, Theorem 1, with K = 5 and the cosine of rows).
 */
export const knnShapley: ItemSelector = {
  description: 'the Shapley value of the item for a nearest-neighbour classifier that is tested on the gold labels',
  needs: 'seeds',
  async score({ features, classCount, items, seeds }) {
    const { columns, starts, indices, values } = features;
    const counts = new Float64Array(classCount);
    for (const { label } of seeds) counts[label]++;
    const shapley = new Float64Array(items.length);
    const nearest = items.map(() => ({ similarity: 0, isAgreed: false }));
    const seedRow = new Float64Array(columns);
    for (const seed of seeds) {
      seedRow.fill(0);
      for (let entry = starts[seed.row]; entry < starts[seed.row + 1]; entry++) seedRow[indices[entry]] = values[entry];
      const similarities = Float64Array.from(items, ({ row }) => {
        let product = 0;
        for (let entry = starts[row]; entry < starts[row + 1]; entry++)
          product += values[entry] * seedRow[indices[entry]];
        return product;
      });
      const order = [...items.keys()].sort((left, right) => similarities[right] - similarities[left]);
      const agrees = (rank: number) => Number(items[order[rank]].label === seed.label);
      let value = agrees(items.length - 1) / items.length;
      for (let rank = items.length - 1; rank >= 0; rank--) {
        if (rank < items.length - 1)
          value += ((agrees(rank) - agrees(rank + 1)) / neighbours) * (Math.min(neighbours, rank + 1) / (rank + 1));
        const item = order[rank];
        shapley[item] += value / counts[seed.label];
        if (similarities[item] > nearest[item].similarity)
          nearest[item] = { similarity: similarities[item], isAgreed: agrees(rank) === 1 };
      }
    }
    return Array.from(shapley, (score, item) => {
      const { similarity, isAgreed } = nearest[item];
      const label = isAgreed ? 'this' : 'another';
      return { score, reason: `the nearest gold row has ${label} label (similarity ${similarity.toFixed(2)})` };
    });
  },
};
