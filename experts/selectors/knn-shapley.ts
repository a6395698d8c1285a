import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import type { ItemSelector } from './selector.ts';

const neighbours = 5;

/**
 * The Shapley value of each item for a classifier of the K nearest neighbours, tested on the seeds, classes balanced
 * (Jia et al., "Efficient Task-Specific Data Valuation for Nearest Neighbor Algorithms", VLDB 2019, Theorem 1, with K =
 * 5 and the cosine of rows).
 */
export const knnShapley: ItemSelector = {
  description: 'the Shapley value of the item for a nearest-neighbour classifier that is tested on the gold labels',
  needs: 'seeds',
  async score({ features, classCount, items, seeds }) {
    const counts = new Float64Array(classCount);
    for (const { label } of seeds) counts[label]++;
    const shapley = new Float64Array(items.length);
    const nearest = { similarity: new Float64Array(items.length), isAgreed: new Uint8Array(items.length) };
    const rows = Int32Array.from(items, ({ row }) => row);
    const labels = Int32Array.from(items, ({ label }) => label);
    for (const seed of seeds) {
      const { similarities, ranks } = alikeTo(features, seed.row);
      const order = inOrder(rows, ranks);
      let value = 0;
      let agreedBefore = 0;
      for (let rank = items.length - 1; rank >= 0; rank--) {
        const item = order[rank];
        const agreed = labels[item] === seed.label ? 1 : 0;
        if (rank === items.length - 1) value = agreed / items.length;
        else if (agreed !== agreedBefore)
          value += ((agreed - agreedBefore) / neighbours) * (Math.min(neighbours, rank + 1) / (rank + 1));
        agreedBefore = agreed;
        shapley[item] += value / counts[seed.label];
        const similarity = similarities[rows[item]];
        if (similarity <= nearest.similarity[item]) continue;
        nearest.similarity[item] = similarity;
        nearest.isAgreed[item] = agreed;
      }
    }
    return Array.from(shapley, (score, item) => {
      const label = nearest.isAgreed[item] === 1 ? 'this' : 'another';
      const similarity = nearest.similarity[item].toFixed(2);
      return { score, reason: `the nearest gold row has ${label} label (similarity ${similarity})` };
    });
  },
};

/** Similarities of one row to every row. */
interface Alike {
  readonly similarities: Float64Array;
  /** 0 for the largest similarity; equal ranks for equal similarities. */
  readonly ranks: Int32Array;
}

const similarRows = new WeakMap<SparseMatrix, Map<number, Alike>>();
/** Similarities cached per matrix: 160 MB with their ranks. */
const mostKept = 1.3e7;

/** Cached as long as the matrix, because cross-fitting needs the same rows in most folds. */
function alikeTo(features: SparseMatrix, of: number): Alike {
  const { rows, columns, starts, indices, values } = features;
  const rowsOfMatrix = similarRows.get(features) ?? new Map<number, Alike>();
  similarRows.set(features, rowsOfMatrix);
  const cached = rowsOfMatrix.get(of);
  if (cached !== undefined) return cached;
  const dense = new Float64Array(columns);
  for (let entry = starts[of]; entry < starts[of + 1]; entry++) dense[indices[entry]] = values[entry];
  const similarities = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    let product = 0;
    for (let entry = starts[row]; entry < starts[row + 1]; entry++) product += values[entry] * dense[indices[entry]];
    similarities[row] = product;
  }
  const rankOf = new Map([...new Set(similarities.toSorted().reverse())].map((value, rank) => [value, rank]));
  const alike = { similarities, ranks: Int32Array.from(similarities, (value) => rankOf.get(value) ?? 0) };
  if ((rowsOfMatrix.size + 1) * rows <= mostKept) rowsOfMatrix.set(of, alike);
  return alike;
}

/** The places of rows by rank, the earlier first among equals: a counting sort. */
function inOrder(rows: Int32Array, ranks: Int32Array): Int32Array {
  const ends = new Int32Array(ranks.length + 1);
  for (const row of rows) ends[ranks[row] + 1]++;
  for (let rank = 0; rank < ranks.length; rank++) ends[rank + 1] += ends[rank];
  const order = new Int32Array(rows.length);
  for (let place = 0; place < rows.length; place++) order[ends[ranks[rows[place]]]++] = place;
  return order;
}
