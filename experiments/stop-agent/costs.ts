import { z } from 'zod';
import { entryOf } from '../../src/entry-of.ts';
import { recordOf } from '../../src/record-of.ts';

/*
 * The user's own costs. With them, systems are compared by their expected cost per thread, exact policy gradient maximises minus that,
 * and the recommended system is the one that costs least on the development part.
 */

const amount = z.number().min(0);

export const costsSchema = z.strictObject({
  wrong: z
    .union([amount, recordOf(z.union([amount, recordOf(amount)]))])
    .default(1)
    .describe(
      'of a wrong prediction: one number, or a number for each true label, or for each true label one for each predicted label; labels that are left out cost 1',
    ),
  perHour: amount.default(0).describe('of each hour from the claim to the decision'),
  perPost: amount.default(0).describe('of each post read'),
  perShare: amount.default(0).describe('of reading a whole thread; of a part in proportion'),
  perQuery: amount.default(0).describe('of each query of the detector'),
});
export type Costs = z.infer<typeof costsSchema>;

/** The labels that costs name and the task does not have. */
export function unknownLabels({ wrong }: Costs, labels: readonly string[]): string[] {
  if (typeof wrong === 'number') return [];
  const named = Object.entries(wrong).flatMap(([gold, costs]) => [
    gold,
    ...(typeof costs === 'number' ? [] : Object.keys(costs)),
  ]);
  return named.filter((name) => !labels.includes(name));
}

/** Of each true label and each predicted one; 0 where they are the same, 1 where nothing is said of them. [gold][predicted] */
export function wrongCosts({ wrong }: Costs, labels: readonly string[]): number[][] {
  return labels.map((gold) => {
    const costOfLabel = typeof wrong === 'number' ? wrong : (entryOf(wrong, gold) ?? 1);
    return labels.map((predicted) => {
      if (predicted === gold) return 0;
      return typeof costOfLabel === 'number' ? costOfLabel : (entryOf(costOfLabel, predicted) ?? 1);
    });
  });
}

/** The posts, hours and queries of a decision. */
export interface Spent {
  readonly postsUsed: number;
  readonly posts: number;
  /** Null where a time is unknown. */
  readonly hours: number | null;
  readonly queries: number;
}

/** The cost of reading up to a decision; null where hours cost something and are not known. */
export function readingCost(costs: Costs, { postsUsed, posts, hours, queries }: Spent): number | null {
  if (costs.perHour > 0 && hours === null) return null;
  return (
    costs.perPost * postsUsed +
    (costs.perShare * postsUsed) / posts +
    costs.perHour * (hours ?? 0) +
    costs.perQuery * queries
  );
}

/** The cost of a prediction. An answer that could not be read costs as much as the worst wrong one. */
export function predictionCost(wrong: readonly (readonly number[])[], of: { gold: number; predicted: number }): number {
  const row = wrong[of.gold];
  return of.predicted < 0 ? Math.max(...row) : row[of.predicted];
}
