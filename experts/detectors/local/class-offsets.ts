import { likeliest } from '../../../src/likeliest.ts';
import type { Scored } from './calibration.ts';

/** Places tried along the values at which a row changes its class; a grid of fixed steps would miss small logits. */
const quantiles = 49;
const mostSweeps = 5;
const leastGain = 1e-9;

/**
 * One number a class, to be added to its logit, chosen for the macro-F1 of logits of rows that the classifier has not seen. A
 * classifier that is as sure as its classes are frequent says a rare one too seldom for macro-F1. One class after the other:
 * where its offset changes the label of a row, for quantiles of these values over the rows.
 * @returns [classes], 0 of class 0
 */
export function fitClassOffsets({ logits, targets, rowWeights, classCount }: Scored): number[] {
  const rows = Array.from(rowWeights, (weight, row) => ({
    weight,
    logits: logits.subarray(row * classCount, (row + 1) * classCount),
    gold: likeliest(targets.subarray(row * classCount, (row + 1) * classCount)),
  })).filter(({ weight }) => weight > 0);

  const macroF1 = (offsets: readonly number[]) => {
    const [hits, said, gold] = [0, 1, 2].map(() => new Float64Array(classCount));
    for (const row of rows) {
      let best = 0;
      for (let label = 1; label < classCount; label++)
        if (row.logits[label] + offsets[label] > row.logits[best] + offsets[best]) best = label;
      said[best] += row.weight;
      gold[row.gold] += row.weight;
      if (best === row.gold) hits[best] += row.weight;
    }
    const f1 = hits.map((hit, label) => (hit === 0 ? 0 : (2 * hit) / (said[label] + gold[label])));
    return f1.reduce((sum, value) => sum + value, 0) / classCount;
  };

  let offsets = new Array<number>(classCount).fill(0);
  let best = macroF1(offsets);
  for (let sweep = 0; sweep < mostSweeps; sweep++) {
    const before = best;
    // With two classes, one offset says it all.
    for (let label = classCount === 2 ? 1 : 0; label < classCount; label++) {
      const changes = rows.map((row) => {
        const others = [...row.logits].map((logit, other) => (other === label ? -Infinity : logit + offsets[other]));
        return Math.max(...others) - row.logits[label];
      });
      const current = offsets;
      for (const value of quantilesOf(changes)) {
        const tried = current.with(label, value);
        const score = macroF1(tried);
        if (score <= best + leastGain) continue;
        best = score;
        offsets = tried;
      }
    }
    if (best === before) break;
  }
  return offsets.map((offset) => offset - offsets[0]);
}

/** Values between neighbours, so that none is a tie. */
function quantilesOf(values: readonly number[]): number[] {
  const sorted = [...values].sort((left, right) => left - right);
  const last = sorted.length - 1;
  const places = Array.from({ length: quantiles }, (_, index) => Math.floor(((index + 1) / (quantiles + 1)) * last));
  return [...new Set(places)].map((place) => (sorted[place] + sorted[Math.min(place + 1, last)]) / 2);
}
