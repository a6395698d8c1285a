import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
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
    const counts = new Float64Array(classCount);
    for (const { label } of seeds) counts[label]++;
    const shapley = new Float64Array(items.length);
    const nearest = items.map(() => ({ similarity: 0, isAgreed: false }));
    const similarities = new Float64Array(items.length);
    for (const seed of seeds) {
      const toRows = similaritiesTo(features, seed.row);
      for (let item = 0; item < items.length; item++) similarities[item] = toRows[items[item].row];
      const order = mostFirst(similarities);
      let value = 0;
      let agreedBefore = 0;
      for (let rank = items.length - 1; rank >= 0; rank--) {
        const item = order[rank];
        const agreed = items[item].label === seed.label ? 1 : 0;
        if (rank === items.length - 1) value = agreed / items.length;
        else value += ((agreed - agreedBefore) / neighbours) * (Math.min(neighbours, rank + 1) / (rank + 1));
        agreedBefore = agreed;
        shapley[item] += value / counts[seed.label];
        if (similarities[item] > nearest[item].similarity)
          nearest[item] = { similarity: similarities[item], isAgreed: agreed === 1 };
      }
    }
    return Array.from(shapley, (score, item) => {
      const { similarity, isAgreed } = nearest[item];
      const label = isAgreed ? 'this' : 'another';
      return { score, reason: `the nearest gold row has ${label} label (similarity ${similarity.toFixed(2)})` };
    });
  },
};

const known = new WeakMap<SparseMatrix, Map<number, Float64Array>>();
/** Numbers kept of one matrix: 160 MB. */
const mostKept = 2e7;

/** The product of a row with every row. Cross-fitting asks for the same rows in most folds, so they are kept for as long as the matrix. */
function similaritiesTo(features: SparseMatrix, of: number): Float64Array {
  const { rows, columns, starts, indices, values } = features;
  const kept = known.get(features) ?? new Map<number, Float64Array>();
  known.set(features, kept);
  const found = kept.get(of);
  if (found !== undefined) return found;
  const dense = new Float64Array(columns);
  for (let entry = starts[of]; entry < starts[of + 1]; entry++) dense[indices[entry]] = values[entry];
  const products = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    let product = 0;
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) product += values[entry] * dense[indices[entry]];
    products[row] = product;
  }
  if ((kept.size + 1) * rows <= mostKept) kept.set(of, products);
  return products;
}

/** The places of the values, the largest first, and of equal ones the earlier first: a sort of numbers takes a fifth of the time of one by a function. */
function mostFirst(values: Float64Array): Int32Array {
  const sorted = values.slice().sort().reverse();
  const taken = new Int32Array(values.length);
  const order = new Int32Array(values.length);
  for (let place = 0; place < values.length; place++) {
    let first = 0;
    let end = values.length;
    while (first < end) {
      const middle = (first + end) >> 1;
      if (sorted[middle] > values[place]) first = middle + 1;
      else end = middle;
    }
    order[first + taken[first]++] = place;
  }
  return order;
}
