import { z } from 'zod';
import { stanceClasses } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import { type ClassificationScores, classificationScores } from '../../src/metrics/classification.ts';
import { likeliest } from '../../trainers/selector/likeliest.ts';
import { selectGreedily } from '../../trainers/selector/select-greedily.ts';
import type { SelectorSettings, SelectorTraining } from '../../trainers/selector/setup.ts';
import { replyStances, selectorClaim, type TestSet } from './data.ts';

export const taskScoresSchema = z.strictObject({
  items: z.int(),
  microF1: z.number(),
  /** Over the classes that the labels have: RumourEval knows no non-rumour. */
  macroF1: z.number(),
  perClass: z.record(z.string(), z.number().nullable()).describe('F1; null for a class that no label is of'),
});
export type TaskScores = z.output<typeof taskScoresSchema>;

export const testScoresSchema = z.strictObject({
  /** Null where the test set has no such labels. */
  stance: taskScoresSchema.nullable(),
  veracity: taskScoresSchema.nullable(),
});
export type TestScores = z.output<typeof testScoresSchema>;

/** Stances of all replies that have a label, and veracities of all claims that have one. */
export async function evaluateSelector(options: {
  test: TestSet;
  settings: Omit<SelectorSettings, 'claims' | 'stancePretraining' | 'seed'>;
  policies: SelectorTraining['policies'] | null;
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}): Promise<TestScores> {
  const { test, ...inference } = options;
  const selections = await selectGreedily({ ...inference, claims: test.threads.map(selectorClaim) });
  const stances = selections.flatMap(({ posts }) => posts.map(({ prediction }) => likeliest(prediction.distribution)));
  const veracities = selections.map(({ claim }) => likeliest(claim.prediction.distribution));
  return {
    stance: scoresOf({ classes: stanceClasses, gold: test.threads.flatMap(replyStances), predicted: stances }),
    veracity: scoresOf({
      classes: veracityTask.labels,
      gold: test.threads.map((thread) => veracityTask.goldLabel(thread) ?? -1),
      predicted: veracities,
    }),
  };
}

/** @param options.gold −1 where there is no label */
export function scoresOf(options: {
  classes: readonly string[];
  gold: readonly number[];
  predicted: readonly number[];
}): TaskScores | null {
  const { classes, gold, predicted } = options;
  const items = [...gold.keys()].filter((index) => gold[index] >= 0);
  if (items.length === 0) return null;
  const scores: ClassificationScores = classificationScores({
    gold: items.map((index) => gold[index]),
    predicted: items.map((index) => predicted[index]),
    classes: classes.length,
  });
  const present = scores.perClass.filter(({ support }) => support > 0);
  return {
    items: items.length,
    microF1: scores.microF1,
    macroF1: present.reduce((sum, { f1 }) => sum + f1, 0) / present.length,
    perClass: Object.fromEntries(
      classes.map((name, index) => [name, scores.perClass[index].support === 0 ? null : scores.perClass[index].f1]),
    ),
  };
}
