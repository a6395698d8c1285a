import { z } from 'zod';

/** Memory of the server and of Redis; 0 for Redis if threads are in the server's memory. */
const both = z.strictObject({ server: z.number(), redis: z.number() });

/** The lines that `benchmarks/thread-costs.ts --out` writes and `benchmarks/a-day.ts` reads. */
export const threadCostsSchema = z.strictObject({
  sessions: z.enum(['memory', 'redis']),
  postsOfThread: z.number(),
  /** Processor time of one request. */
  milliseconds: z.strictObject({
    first: both,
    /** A post of a thread in which the server remembers its place. */
    next: both,
    /** A post of a thread that the server reads again from its first post. */
    nextReadAgain: both,
    decision: both,
    /** A post of a thread that is decided. */
    later: both,
  }),
  /** Memory of a thread. */
  bytes: z.strictObject({ open: both, decided: both }),
});
export type ThreadCosts = z.infer<typeof threadCostsSchema>;
