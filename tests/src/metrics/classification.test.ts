import { describe, expect, it } from 'vitest';
import { classificationScores, cohensKappa, confusionMatrix, macroF1 } from '../../../src/metrics/classification.ts';

describe('classification scores', () => {
  // Worked by hand; scikit-learn's classification_report gives the same.
  const gold = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2];
  const predicted = [0, 0, 1, 1, 0, 2, 2, 2, 0, 1];

  it('counts gold by predicted', () => {
    expect([...confusionMatrix({ gold, predicted, classes: 3 })]).toEqual([2, 1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 0]);
  });

  it('are those of the textbook', () => {
    const scores = classificationScores({ gold, predicted, classes: 3 });
    expect(scores.accuracy).toBeCloseTo(6 / 10, 15);
    expect(scores.perClass[0]).toEqual({ precision: 2 / 4, recall: 2 / 3, f1: 4 / 7, support: 3 });
    expect(scores.perClass[1]).toEqual({ precision: 1 / 3, recall: 1 / 2, f1: 2 / 5, support: 2 });
    expect(scores.perClass[2]).toEqual({ precision: 1, recall: 3 / 5, f1: 6 / 8, support: 5 });
    expect(scores.macroF1).toBeCloseTo((4 / 7 + 2 / 5 + 3 / 4) / 3, 15);
    expect(scores.microF1).toBe(scores.accuracy);
    expect(scores).toMatchObject({ items: 10, unparsed: 0 });
  });

  it('give a class that is nowhere 0, and it counts in the mean', () => {
    const scores = classificationScores({ gold: [0, 1], predicted: [0, 1], classes: 3 });
    expect(scores.perClass[2]).toEqual({ precision: 0, recall: 0, f1: 0, support: 0 });
    expect(scores.macroF1).toBeCloseTo(2 / 3, 15);
  });

  it('take a missing label as a miss of its class and a false alarm of none', () => {
    const scores = classificationScores({
      gold: Int8Array.of(0, 0, 1, 1),
      predicted: Int8Array.of(0, -1, 1, 1),
      classes: 2,
    });
    expect(scores).toMatchObject({ accuracy: 3 / 4, unparsed: 1, items: 4 });
    expect(scores.perClass[0]).toEqual({ precision: 1, recall: 1 / 2, f1: 2 / 3, support: 2 });
    expect(scores.perClass[1].f1).toBe(1);
    expect(scores.microF1).toBeCloseTo((2 * 1 * 0.75) / 1.75, 15);
  });

  it('score nothing but missing labels 0', () => {
    const scores = classificationScores({ gold: [0, 1], predicted: [-1, -1], classes: 2 });
    expect(scores).toMatchObject({ accuracy: 0, macroF1: 0, microF1: 0, unparsed: 2 });
  });

  it('count the chosen items as often as they are chosen', () => {
    const chosen = Int32Array.of(0, 3, 3, 9);
    const copied = { gold: [0, 1, 1, 2], predicted: [0, 1, 1, 1], classes: 3 };
    expect(classificationScores({ gold, predicted, classes: 3, items: chosen })).toEqual(classificationScores(copied));
    expect(macroF1({ gold, predicted, classes: 3, items: chosen })).toBe(classificationScores(copied).macroF1);
  });

  it('refuse no items', () => {
    expect(() => classificationScores({ gold: [], predicted: [], classes: 2 })).toThrow(
      'there are no labelled items to score',
    );
  });
});

const times = (count: number, pair: [string, string]) => Array.from({ length: count }, () => pair);

it('is the example of two readers of 50 proposals', () => {
  // https://en.wikipedia.org/wiki/Cohen%27s_kappa: agreement 0.7, 0.5 by chance.
  const pairs = [
    ...times(20, ['yes', 'yes']),
    ...times(5, ['yes', 'no']),
    ...times(10, ['no', 'yes']),
    ...times(15, ['no', 'no']),
  ];
  expect(cohensKappa(pairs)).toBeCloseTo(0.4, 12);
});

it('is 1 for agreement, also where there is one class, 0 for chance, and null for nothing', () => {
  expect(cohensKappa([...times(3, ['a', 'a']), ...times(2, ['b', 'b'])])).toBe(1);
  expect(cohensKappa(times(4, ['a', 'a']))).toBe(1);
  expect(
    cohensKappa([
      ['a', 'a'],
      ['a', 'b'],
      ['b', 'a'],
      ['b', 'b'],
    ]),
  ).toBeCloseTo(0, 12);
  expect(cohensKappa([])).toBeNull();
});
