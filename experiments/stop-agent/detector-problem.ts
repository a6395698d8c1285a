import type { HeldOutScores } from '../../experts/detectors/local/held-out.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { percent } from '../report/shown-numbers.ts';

/** From this share of the threads on, a detector predicts one label. */
const oneLabel = 0.98;
/** Why no stopping rule can help, in a sentence: the detector is no better than guessing. Null where it is better. */
export function detectorProblem(heldOut: readonly HeldOutScores[]): string | null {
  const threads = heldOut.reduce((sum, scores) => sum + scores.threads, 0);
  const labels = Object.keys(heldOut[0].support);
  const share = (label: string, of: (scores: HeldOutScores) => Readonly<Record<string, number>>) =>
    heldOut.reduce((sum, scores) => sum + of(scores)[label], 0) / threads;
  const systemOf = (scores: HeldOutScores, system: string) => scores.systems.find(({ name }) => name === system)!;
  const predicted = new Map(
    labels.map((label) => [label, share(label, (scores) => systemOf(scores, 'all posts').said)]),
  );
  const first = labels.find((label) => predicted.get(label)! >= oneLabel);
  if (first !== undefined)
    return `The detector predicts one label (${first} for ${percent(predicted.get(first)!)} of the threads that it has not seen); no stopping rule can help`;
  // Labels drawn as often as the detector predicts them: precision is the share of a label, recall how often it is predicted.
  const guessing = mean(
    labels.map((label) => {
      const [is, says] = [share(label, ({ support }) => support), predicted.get(label)!];
      return (2 * is * says) / (is + says || 1);
    }),
  );
  const macroF1 = mean(heldOut.map((scores) => systemOf(scores, 'all posts').macroF1));
  const majority = mean(heldOut.map((scores) => systemOf(scores, 'most common label').macroF1));
  // 1.64 standard errors of a share of one half: 95% of guessing detectors stay below that.
  const chance = 1.64 * Math.sqrt(0.25 / heldOut[0].threads);
  if (macroF1 > Math.max(majority, guessing + chance)) return null;
  const comparison = `(macro-F1 ${macroF1.toFixed(3)}; guesses as frequent ${guessing.toFixed(3)}, the most common label ${majority.toFixed(3)})`;
  // A detector that is a little better may be much better: so few threads cannot show it.
  return macroF1 < Math.max(majority, guessing) + 0.01
    ? `The detector is no better than guessing on threads that it has not seen ${comparison}; no stopping rule can help`
    : `The detector brings no measurable gain over guessing on ${heldOut[0].threads} threads that it has not seen ${comparison}; if it guesses, no stopping rule can help`;
}
