import { describe, expect, it } from 'vitest';
import { selectorNames } from '../../../experts/selectors/names.ts';
import { fitRowClassifier } from '../../../experts/selectors/row-classifier.ts';
import type { SelectionTask } from '../../../experts/selectors/selector.ts';
import { seedEffects, selectors } from '../../../experts/selectors/selectors.ts';
import { takeShare } from '../../../experts/selectors/take-share.ts';
import { SparseMatrixBuilder } from '../../../src/regression/sparse-matrix.ts';
import { Random } from '../../../src/tensor/random.ts';

/** Random rows of three numbers; the first says the class. */
function task(options: { items: number; seeds: number; wrong: (item: number) => boolean }): SelectionTask {
  const random = Random.seeded({ seed: 1, purpose: 'rows of a test' });
  const builder = new SparseMatrixBuilder({ columns: 4 });
  const gold = Array.from({ length: options.items + options.seeds }, (_, row) => {
    const label = row % 2;
    const vector = [label === 1 ? 1 : -1, random.normal(), random.normal()];
    const length = Math.hypot(...vector);
    for (const [column, value] of vector.entries()) builder.add(column, value / length);
    builder.add(3, 0.1);
    builder.endRow();
    return label;
  });
  const all = gold.map((label, row) => ({ row, label }));
  return {
    features: builder.build(),
    classCount: 2,
    items: all.slice(0, options.items).map(({ row, label }) => ({
      row,
      label: options.wrong(row) ? 1 - label : label,
      confidence: options.wrong(row) ? 0.55 : 0.8,
    })),
    seeds: all.slice(options.items),
    random,
  };
}

function dense({ features }: SelectionTask, row: number): number[] {
  const vector = [0, 0, 0, 0];
  for (let entry = features.starts[row]; entry < features.starts[row + 1]; entry++)
    vector[features.indices[entry]] = features.values[entry];
  return vector;
}

const product = (left: readonly number[], right: readonly number[]) =>
  left.reduce((sum, value, index) => sum + value * right[index], 0);

describe('selectors', () => {
  const isWrong = (item: number) => item % 5 === 0;
  const noisy = task({ items: 200, seeds: 40, wrong: isWrong });

  it.each(selectorNames.filter((name) => name !== 'random'))('%s puts right labels above wrong ones', async (name) => {
    const scores = await selectors[name].score(noisy);
    const right = scores.filter((_, item) => !isWrong(item));
    const wrong = scores.filter((_, item) => isWrong(item));
    const isAbove = right.flatMap(({ score }) => wrong.map((other) => Number(score > other.score)));
    expect(isAbove.reduce((sum, one) => sum + one) / isAbove.length).toBeGreaterThan(0.8);
    expect(scores.every(({ reason }) => reason.length > 0)).toBe(true);
  });

  it('gives each item its Shapley value: what it adds to a nearest-neighbour classifier, over all orders', async () => {
    const small = task({ items: 8, seeds: 4, wrong: (item) => item === 2 });
    const { items, seeds } = small;
    /** The share of the 5 nearest neighbours in the set that have the seed's label, mean over classes of seeds. */
    const utility = (set: readonly number[]) =>
      seeds.reduce((sum, seed) => {
        const similarity = (item: number) => product(dense(small, items[item].row), dense(small, seed.row));
        const nearest = set.toSorted((left, right) => similarity(right) - similarity(left)).slice(0, 5);
        const ofClass = seeds.filter(({ label }) => label === seed.label).length;
        return sum + nearest.filter((item) => items[item].label === seed.label).length / 5 / ofClass;
      }, 0);
    const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));
    const exact = items.map((_, item) => {
      let value = 0;
      for (let mask = 0; mask < 2 ** items.length; mask++) {
        if (mask & (1 << item)) continue;
        const set = [...items.keys()].filter((other) => mask & (1 << other));
        const weight = (factorial(set.length) * factorial(items.length - set.length - 1)) / factorial(items.length);
        value += weight * (utility([...set, item]) - utility(set));
      }
      return value;
    });
    const scores = await selectors['knn-shapley'].score(small);
    for (const [item, { score }] of scores.entries()) expect(score).toBeCloseTo(exact[item], 6);
  });

  it('knows the effect of a small step on an item on the loss of the seeds', () => {
    const small = task({ items: 6, seeds: 4, wrong: (item) => item === 3 });
    const { items, seeds } = small;
    const lossAfter = (item: number, rate: number) => {
      const vector = dense(small, items[item].row);
      // From zero weights; the gradient of the item's loss is (p − y) xᵀ.
      const logit = (row: number, label: number) =>
        -rate * (0.5 - Number(items[item].label === label)) * product(vector, dense(small, row));
      return seeds.reduce((sum, { row, label }) => {
        const ofClass = seeds.filter((other) => other.label === label).length;
        return sum + (Math.log(Math.exp(logit(row, 0)) + Math.exp(logit(row, 1))) - logit(row, label)) / ofClass;
      }, 0);
    };
    const rate = 1e-4;
    for (const [item, effect] of seedEffects(small).entries())
      expect((lossAfter(item, -rate) - lossAfter(item, rate)) / (2 * rate)).toBeCloseTo(effect, 6);
  });
});

describe('a classifier of rows', () => {
  it('is at the minimum of the loss of LogisticRegression with balanced classes', async () => {
    const { features, seeds, ...rest } = task({ items: 0, seeds: 12, wrong: () => false });
    const examples = seeds.slice(0, 9);
    const model = await fitRowClassifier({ features, classCount: 2, examples });
    // At the minimum the weights are the sum of weight · (y − p) x, so the logits are products with it.
    const weightOf = (label: number) => 9 / 2 / examples.filter((own) => own.label === label).length;
    const whole = { features, seeds, ...rest };
    for (const { row } of seeds) {
      const logit = examples.reduce(
        (sum, own) =>
          sum +
          weightOf(own.label) *
            (Number(own.label === 1) - model(own.row)[1]) *
            product(dense(whole, own.row), dense(whole, row)),
        0,
      );
      const [no, yes] = model(row);
      expect(Math.log(yes / no) / 2).toBeCloseTo(logit, 1);
    }
  });

  it('never says a class that it was not trained on, and nothing without examples', async () => {
    const { features } = task({ items: 0, seeds: 4, wrong: () => false });
    const model = await fitRowClassifier({
      features,
      classCount: 3,
      examples: [
        { row: 0, label: 0 },
        { row: 1, label: 1 },
      ],
    });
    expect(model(2)[2]).toBe(0);
    const untrained = await fitRowClassifier({ features, classCount: 3, examples: [] });
    expect([...untrained(0)]).toEqual([1 / 3, 1 / 3, 1 / 3]);
  });
});

describe('a share of every class', () => {
  const items = [0, 0, 0, 0, 1, 1, 2].map((label) => ({ label }));

  it('takes the best of each, and at least one', () => {
    expect(takeShare({ items, scores: [1, 4, 3, 2, 0, 9, -5], share: 0.5 })).toEqual([1, 2, 5, 6]);
    expect(takeShare({ items, scores: [1, 4, 3, 2, 0, 9, -5], share: 0.01 })).toEqual([1, 5, 6]);
    expect(takeShare({ items, scores: [0, 0, 0, 0, 0, 0, 0], share: 1 })).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('takes earlier ones of equal scores', () => {
    expect(takeShare({ items, scores: [0, 0, 0, 0, 0, 0, 0], share: 0.5 })).toEqual([0, 1, 4, 6]);
  });
});
