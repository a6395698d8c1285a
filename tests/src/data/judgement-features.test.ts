import { describe, expect, it } from 'vitest';
import { growingLastJudgement, lastJudgementFeatureCount } from '../../../src/data/judgement-features.ts';

const none = Number.NaN;
/** Rows of [log-odds, size, ln(1 + posts since), ln(1 + streak), ln posts]. */
function rows(
  judgements: { predicted: number[]; probabilities: number[] },
  options: { queriedLengths: number[]; posts: number; labels?: number },
) {
  const { labels = 2 } = options;
  const next = growingLastJudgement(labels);
  return Array.from({ length: options.posts }, (_, post) => {
    const row = judgements.probabilities.slice(post * labels, (post + 1) * labels);
    const judgement = { label: judgements.predicted[post], probabilities: row.some(Number.isNaN) ? null : row };
    const numbers = next(options.queriedLengths.includes(post + 1) ? judgement : null);
    expect(numbers).toHaveLength(lastJudgementFeatureCount(labels));
    return numbers;
  });
}

const close = (values: number[]) => values.map((value) => expect.closeTo(value, 5));
const ln = Math.log;

describe('what a detector-aware agent sees', () => {
  it('is the last judgement asked for, how long ago it was, and how often in a row', () => {
    const judgements = { predicted: [1, 0, 1, 0, 0], probabilities: [0.2, 0.8, 0, 0, 0.1, 0.9, 0, 0, 0.75, 0.25] };
    const seen = rows(judgements, { queriedLengths: [1, 3, 5], posts: 6 });
    expect(seen[0]).toEqual(close([ln(4), ln(4), 0, ln(2), 0]));
    expect(seen[1]).toEqual(close([ln(4), ln(4), ln(2), ln(2), ln(2)]));
    expect(seen[2]).toEqual(close([ln(9), ln(9), 0, ln(3), ln(3)]));
    expect(seen[4]).toEqual(close([-ln(3), ln(3), 0, ln(2), ln(5)]));
    expect(seen[5]).toEqual(close([-ln(3), ln(3), ln(2), ln(2), ln(6)]));
  });

  it('does not depend on what was not asked, or comes later', () => {
    const judgements = { predicted: [1, 0, 1], probabilities: [0.2, 0.8, 0.9, 0.1, 0.1, 0.9] };
    const other = { predicted: [1, 1, 0], probabilities: [0.2, 0.8, 0.5, 0.5, 0.6, 0.4] };
    const options = { queriedLengths: [1, 3], posts: 3 };
    expect(rows(other, options).slice(0, 2)).toEqual(rows(judgements, options).slice(0, 2));
    expect(rows(other, options)[2]).not.toEqual(rows(judgements, options)[2]);
  });

  it('is nothing before the first judgement, and of an answer without a label', () => {
    const judgements = { predicted: [1, 1, -1, 1], probabilities: [0, 1, 0.2, 0.8, none, none, 0.2, 0.8] };
    const seen = rows(judgements, { queriedLengths: [2, 3, 4], posts: 4 });
    expect(seen[0]).toEqual(close([0, 0, ln(2), 0, 0]));
    expect(seen[2]).toEqual(close([0, 0, 0, 0, ln(3)]));
    // The streak begins again after it.
    expect(seen[3]).toEqual(close([ln(4), ln(4), 0, ln(2), ln(4)]));
  });

  it('of a detector that says labels alone is as sure as can be', () => {
    const judgements = { predicted: [1, 0], probabilities: [none, none, none, none] };
    const sure = ln(1e4);
    const seen = rows(judgements, { queriedLengths: [1, 2], posts: 2 });
    expect(seen.map(([odds, size]) => [odds, size])).toEqual([close([sure, sure]), close([-sure, sure])]);
  });

  it('has the margin to the next label where there are more than two', () => {
    const judgements = { predicted: [2], probabilities: [0.2, 0.3, 0.5] };
    const [row] = rows(judgements, { queriedLengths: [1], posts: 1, labels: 3 });
    expect(row).toEqual(close([ln(1.5), ln(2.5), ln(5 / 3), 0, ln(2), 0]));
  });
});
