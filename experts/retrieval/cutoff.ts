import { z } from 'zod';
import type { Post } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';

export const cutoffSchema = z
  .strictObject({
    date: z.iso
      .date({ error: 'must be a day such as 2018-03-31' })
      .nullable()
      .default(null)
      .describe('last day of evidence for every thread; null: from the day of its claim'),
    daysBeforeClaim: z.int().min(0).default(1).describe("last day of evidence, counted back from the claim's day"),
    undatedClaims: z
      .enum(['fail', 'no-retrieval', 'search-everything'])
      .default('fail')
      .describe(
        'a claim without a time: an error, no evidence, or (dangerous: finds the fact-checks of later days) no cut-off',
      ),
  })
  .prefault({})
  .describe('no evidence is younger than this');

/** Until when evidence may be: a day as YYYY-MM-DD in UTC, `none` for no evidence at all, null for no cut-off. */
export function cutoffOf(claim: Post, options: z.output<typeof cutoffSchema>): string | 'none' | null {
  if (options.date !== null) return options.date;
  if (claim.time !== null)
    return new Date(Date.parse(claim.time) - options.daysBeforeClaim * 86_400_000).toISOString().slice(0, 10);
  if (options.undatedClaims === 'no-retrieval') return 'none';
  if (options.undatedClaims === 'search-everything') return null;
  throw new InputError(
    `post ${claim.id} has no time, so that nobody knows which evidence is older than it; give retrieval.cutoff.date, ` +
      'or set retrieval.cutoff.undatedClaims to no-retrieval (or, if leaked verdicts do not matter, to search-everything)',
  );
}
