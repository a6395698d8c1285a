import { describe, expect, it } from 'vitest';
import { macroF1 } from '../../../src/metrics/classification.ts';
import { expectedMacroF1 } from '../../../src/metrics/expected-macro-f1.ts';

describe('expected macro-F1', () => {
  // Three classes; the second item may be unreadable, the last is certain.
  const gold = [0, 1, 1, 2, 0];
  const rows = [
    [0.6, 0.4, 0],
    [0.1, 0.5, 0.2],
    [0, 0.7, 0.3],
    [0.2, 0.2, 0.6],
    [1, 0, 0],
  ];

  it('is the mean over every outcome', () => {
    let expectation = 0;
    let total = 0;
    const predicted: number[] = [];
    const visit = (probability: number): void => {
      const item = predicted.length;
      if (item === gold.length) {
        expectation += probability * macroF1({ gold, predicted, classes: 3 });
        total += probability;
        return;
      }
      const outcomes = [...rows[item], 1 - rows[item].reduce((sum, chance) => sum + chance)];
      for (const [label, chance] of outcomes.entries()) {
        predicted.push(label === 3 ? -1 : label);
        visit(probability * chance);
        predicted.pop();
      }
    };
    visit(1);
    expect(total).toBeCloseTo(1, 12);
    expect(expectedMacroF1({ gold, chances: Float64Array.from(rows.flat()), classes: 3 })).toBeCloseTo(expectation, 12);
  });

  it('is macro-F1 where nothing is left to chance', () => {
    const predicted = [0, 1, 0, -1, 0];
    const chances = Float64Array.from(predicted.flatMap((label) => [0, 1, 2].map((own) => Number(own === label))));
    expect(expectedMacroF1({ gold, chances, classes: 3 })).toBeCloseTo(macroF1({ gold, predicted, classes: 3 }), 12);
  });

  it('refuses what cannot be scored', () => {
    const score = (gold: number[], chances: number) => () =>
      expectedMacroF1({ gold, chances: new Float64Array(chances), classes: 2 });
    expect(score([], 0)).toThrow('there are no labelled items to score');
    expect(score([0, 1], 3)).toThrow('there are 3 chances for 2 items of 2 classes');
  });
});
