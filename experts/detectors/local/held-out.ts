import { z } from 'zod';
import { isFairTest, type Thread } from '../../../src/data/thread.ts';
import { likeliest } from '../../../src/likeliest.ts';
import { classificationScores } from '../../../src/metrics/classification.ts';
import { recordOf } from '../../../src/record-of.ts';
import type { ScoredRows } from '../../../src/regression/calibration.ts';
import { weightsWithout } from '../../../src/regression/softmax-fitter.ts';
import type { TrainingRows } from './training-rows.ts';

export const heldOutSystems = ['all posts', 'claim only', 'most common label'] as const;

/** Scores of a detector on held-out threads, beside two simpler systems. */
export const heldOutSchema = z.strictObject({
  threads: z.int(),
  chosen: z
    .int()
    .optional()
    .describe('labelled threads that were chosen by margin or chose them, and are not tested; absent without any'),
  support: recordOf(z.int()).describe('threads of each label'),
  systems: z.array(
    z.strictObject({
      name: z.enum(heldOutSystems).describe('the detector after all posts or after the first, or no detector at all'),
      macroF1: z.number(),
      f1: recordOf(z.number()).describe('of each label'),
      said: recordOf(z.int()).describe('threads that it gives each label'),
    }),
  ),
});
export type HeldOutScores = z.infer<typeof heldOutSchema>;

/** @param options.said label of each thread by the detector of the other folds, after all posts and after the first */
export function heldOutScores(options: {
  gold: readonly number[];
  said: Record<'all posts' | 'claim only', readonly number[]>;
  labels: readonly string[];
  /** Labelled threads that are not tested, because they were chosen by margin or chose them. */
  chosen?: number;
}): HeldOutScores {
  const { gold, said, labels, chosen = 0 } = options;
  const countsOf = (of: readonly number[]) => labels.map((_, label) => of.filter((value) => value === label).length);
  const named = (values: readonly number[]) => Object.fromEntries(labels.map((label, index) => [label, values[index]]));
  const support = countsOf(gold);
  const commonest = gold.map(() => likeliest(support));
  const systems = heldOutSystems.map((name) => {
    const predicted = name === 'most common label' ? commonest : said[name];
    const { macroF1, perClass } = classificationScores({ gold, predicted, classes: labels.length });
    return { name, macroF1, f1: named(perClass.map(({ f1 }) => f1)), said: named(countsOf(predicted)) };
  });
  return { threads: gold.length, ...(chosen > 0 && { chosen }), support: named(support), systems };
}

/** The folds' judgements of held-out threads, with offsets that were chosen without these threads. */
export function heldOutTruth(options: {
  scored: ScoredRows;
  rows: TrainingRows;
  foldOfRow: Int32Array;
  folds: number;
  offsetsOf: (scored: ScoredRows) => number[];
  labels: readonly string[];
  threads: readonly Thread[];
}): HeldOutScores {
  const { scored, foldOfRow, folds, offsetsOf } = options;
  const { threadOfRow, lengthOfRow } = options.rows;
  const { logits, targets, rowWeights, classCount } = scored;
  const offsetsOfFold = Array.from({ length: folds }, (_, fold) =>
    offsetsOf({ ...scored, rowWeights: weightsWithout({ rowWeights, foldOfRow }, fold) }),
  );
  const rowOf = (values: Float64Array, row: number) => [...values.subarray(row * classCount, (row + 1) * classCount)];
  const predictions = Array.from(foldOfRow, (fold, row) =>
    likeliest(rowOf(logits, row).map((logit, label) => logit + offsetsOfFold[fold][label])),
  );
  const gold = Array.from(rowWeights, (_, row) => likeliest(rowOf(targets, row)));
  const isLast = (row: number) => row + 1 === threadOfRow.length || threadOfRow[row + 1] !== threadOfRow[row];
  const rowsOfWhole = [...threadOfRow.keys()].filter((row) => isLast(row) && rowWeights[row] > 0);
  const isFair = rowsOfWhole.map((row) => isFairTest(options.threads[threadOfRow[row]]));
  // A detector may be trained on chosen threads alone, and is then tested elsewhere.
  const last = isFair.includes(true) ? rowsOfWhole.filter((_, index) => isFair[index]) : rowsOfWhole;
  const firstOf = new Map(Array.from(lengthOfRow, (length, row) => [length === 1 ? threadOfRow[row] : -1, row]));
  const pick = (rowsOf: readonly number[]) => rowsOf.map((row) => predictions[row]);
  return heldOutScores({
    gold: last.map((row) => gold[row]),
    said: { 'all posts': pick(last), 'claim only': pick(last.map((row) => firstOf.get(threadOfRow[row]) ?? row)) },
    labels: options.labels,
    chosen: rowsOfWhole.length - last.length,
  });
}
