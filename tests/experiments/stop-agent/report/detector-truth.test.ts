import { describe, expect, it } from 'vitest';
import { tableText } from '../../../../experiments/report/table.ts';
import {
  detectorTruthLine,
  detectorTruthSections,
  detectorTruths,
  detectorTruthTable,
} from '../../../../experiments/stop-agent/report/detector-truth.ts';
import { heldOutScores } from '../../../../experts/detectors/local/held-out.ts';
import { decidedTrial } from './decided-trial.ts';

const labels = ['non-rumor', 'rumor'];
/** 30 of 100 are of the first label; what is said of thread i is given. */
const heldOut = (said: (thread: number, gold: number) => number, claim = said) => {
  const gold = Array.from({ length: 100 }, (_, thread) => (thread < 30 ? 0 : 1));
  const of = (say: typeof said) => gold.map((label, thread) => say(thread, label));
  return heldOutScores({ gold, said: { 'all posts': of(said), 'claim only': of(claim) }, labels });
};
const resultsOf = (...detectors: (ReturnType<typeof heldOut> | null)[]) =>
  detectors.map((detector, index) => ({
    variant: `v${index}`,
    trials: [{ ...decidedTrial(1, {}), detector }],
  }));

describe('what the detector is worth on threads that it has not seen', () => {
  it('is shown beside the claim alone and the most common label, by label', () => {
    const right = heldOut(
      (thread, gold) => (thread % 10 === 0 ? 1 - gold : gold),
      (thread, gold) => (thread % 3 === 0 ? 1 - gold : gold),
    );
    const truths = detectorTruths(resultsOf(right, right));
    expect(truths).toHaveLength(1);
    expect(truths[0].problem).toBeNull();
    // Of 30 and 70 threads 3 and 7 are wrong; the most common label has an F1 of 140 / 170, and 0 for the other.
    const f1 = [54 / (30 + 34), 126 / (70 + 66)];
    expect(truths[0].readers[0]).toMatchObject({ name: 'all posts', f1: { 'non-rumor': f1[0], rumor: f1[1] } });
    expect(truths[0].readers[2].macroF1).toBeCloseTo(70 / 170, 10);
    expect(detectorTruthSections(truths)[0].title).toBe('The detector on threads that it has not seen');
    expect(tableText(detectorTruthTable(truths[0]))).toMatch(
      /\| reads +\| macro-F1 \| F1 non-rumor \(30\) \| F1 rumor \(70\) \|/,
    );
    expect(detectorTruthLine(truths[0])).toMatch(
      /^Detector on threads that it has not seen: macro-F1 0\.885 after all posts, 0\.\d{3} after/,
    );
  });

  it('has a problem where the detector predicts one label, or guesses', () => {
    const [one] = detectorTruths(resultsOf(heldOut((thread) => (thread === 0 ? 0 : 1))));
    expect(one.problem).toMatch(
      /^The detector predicts one label \(rumor for 99% of .*no stopping rule can help\. Next: /,
    );
    const [guesses] = detectorTruths(resultsOf(heldOut((thread) => thread % 2)));
    expect(guesses.problem).toMatch(/no better than guessing .*\(macro-F1 0\.479; guesses as frequent 0\.479/);
  });

  it('does not say that a detector guesses where so few threads cannot tell', () => {
    const [unsure] = detectorTruths(resultsOf(heldOut((thread, gold) => (thread % 9 < 5 ? gold : 1 - gold))));
    expect(unsure.problem).toMatch(
      /^The detector brings no measurable gain over guessing on 100 threads .*; if it guesses, no stopping rule can help\. Next: /,
    );
  });

  it('names the variants where their detectors differ, and says nothing of detectors that were not trained here', () => {
    const good = heldOut((_, gold) => gold);
    const [first, second] = detectorTruths(
      resultsOf(
        good,
        heldOut((thread) => thread % 2),
        good,
      ),
    );
    expect(first.variants).toEqual(['v0', 'v2']);
    expect(second.variants).toEqual(['v1']);
    expect(detectorTruths(resultsOf(null))).toEqual([]);
    expect(detectorTruthSections([])).toEqual([]);
  });
});
