import { z } from 'zod';
import { likeliest } from '../../../src/data/student-features.ts';
import { classificationScores } from '../../../src/metrics/classification.ts';

export const heldOutSystems = ['all posts', 'claim only', 'most common label'] as const;

/** What a detector is worth on threads that it has not seen, beside two readers that need less. */
export const heldOutSchema = z.strictObject({
  threads: z.int(),
  support: z.array(z.int()).describe('threads of each label, in the order of the labels'),
  systems: z.array(
    z.strictObject({
      name: z.enum(heldOutSystems).describe('the detector after all posts or after the first, or no detector at all'),
      macroF1: z.number(),
      f1: z.array(z.number()).describe('of each label'),
      said: z.array(z.int()).describe('threads that it gives each label'),
    }),
  ),
});
export type HeldOut = z.infer<typeof heldOutSchema>;

/** @param options.said label of each thread by the detector of the folds without it, after all posts and after the first */
export function heldOutScores(options: {
  gold: readonly number[];
  said: Record<'all posts' | 'claim only', readonly number[]>;
  labels: number;
}): HeldOut {
  const { gold, said, labels } = options;
  const countsOf = (of: readonly number[]) => {
    const counts = new Array<number>(labels).fill(0);
    for (const label of of) counts[label]++;
    return counts;
  };
  const support = countsOf(gold);
  const commonest = gold.map(() => likeliest(support));
  const systems = heldOutSystems.map((name) => {
    const predicted = name === 'most common label' ? commonest : said[name];
    const { macroF1, perClass } = classificationScores({ gold, predicted, classes: labels });
    return { name, macroF1, f1: perClass.map(({ f1 }) => f1), said: countsOf(predicted) };
  });
  return { threads: gold.length, support, systems };
}
