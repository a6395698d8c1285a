import { z } from 'zod';
import { likeliest } from '../../../src/data/student-features.ts';
import { classificationScores } from '../../../src/metrics/classification.ts';

export const heldOutSystems = ['all posts', 'claim only', 'most common label'] as const;

/** What a detector is worth on threads that it has not seen, beside two readers that need less. */
export const heldOutSchema = z.strictObject({
  threads: z.int(),
  support: z.record(z.string(), z.int()).describe('threads of each label'),
  systems: z.array(
    z.strictObject({
      name: z.enum(heldOutSystems).describe('the detector after all posts or after the first, or no detector at all'),
      macroF1: z.number(),
      f1: z.record(z.string(), z.number()).describe('of each label'),
      said: z.record(z.string(), z.int()).describe('threads that it gives each label'),
    }),
  ),
});
export type HeldOut = z.infer<typeof heldOutSchema>;

/** @param options.said label of each thread by the detector of the folds without it, after all posts and after the first */
export function heldOutScores(options: {
  gold: readonly number[];
  said: Record<'all posts' | 'claim only', readonly number[]>;
  labels: readonly string[];
}): HeldOut {
  const { gold, said, labels } = options;
  const countsOf = (of: readonly number[]) => labels.map((_, label) => of.filter((own) => own === label).length);
  const named = (values: readonly number[]) => Object.fromEntries(labels.map((label, index) => [label, values[index]]));
  const support = countsOf(gold);
  const commonest = gold.map(() => likeliest(support));
  const systems = heldOutSystems.map((name) => {
    const predicted = name === 'most common label' ? commonest : said[name];
    const { macroF1, perClass } = classificationScores({ gold, predicted, classes: labels.length });
    return { name, macroF1, f1: named(perClass.map(({ f1 }) => f1)), said: named(countsOf(predicted)) };
  });
  return { threads: gold.length, support: named(support), systems };
}
