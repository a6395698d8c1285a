import { describe, expect, it } from 'vitest';
import { conclusionOnTable } from '../../../../experiments/selector/report/table-selection-report.ts';

const gold = Array.from({ length: 200 }, (_, index) => ({
  text: `row ${index}`,
  label: index % 2,
  machine: null,
  row: index,
}));
const selection = { selector: 'knn-shapley', gold } as const;

/** A gain of so much macro-F1 and nothing shown of log-likelihood. */
function gain(low: number, high: number) {
  const difference = (low + high) / 2;
  return { macroF1: { difference, low, high }, logLikelihood: { difference: 0, low: -0.02, high: 0.02 } };
}
const nothing = gain(-0.03, 0.03);
const better = gain(0.02, 0.08);
const worse = gain(-0.17, -0.04);

describe('the conclusion on a selection from a table', () => {
  it('opens with the harm where gold rows alone train a better model, whatever a random selection does', () => {
    const overRandom = conclusionOnTable(selection, { room: nothing, overRandom: better, overGoldAlone: worse });
    expect(overRandom).toMatch(/^Gold rows alone train a better model: .*macro-F1 −0\.105 \[−0\.170, −0\.040\]/);
    expect(overRandom).toContain('Leave these weak labels out. Selecting by knn-shapley is better than a random');
    const noRoom = conclusionOnTable(selection, { room: nothing, overRandom: nothing, overGoldAlone: worse });
    expect(noRoom).toMatch(/^Gold rows alone train a better model: .* Nothing to gain here that 200 gold rows/);
  });

  it('says where nothing was shown of gold rows alone, and where the selection is better than they', () => {
    expect(conclusionOnTable(selection, { room: better, overRandom: better, overGoldAlone: nothing })).toMatch(
      /^Selecting by knn-shapley is better than a random .*Training on the gold rows alone may be as good/,
    );
    expect(conclusionOnTable(selection, { room: better, overRandom: nothing, overGoldAlone: better })).toMatch(
      /^There is room to gain .* It is also better than training on the gold rows alone/,
    );
    expect(conclusionOnTable(selection, { room: nothing, overRandom: nothing, overGoldAlone: nothing })).toMatch(
      /^Nothing to gain here/,
    );
  });
});
