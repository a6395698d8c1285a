import { z } from 'zod';
import { syntheticOptionsSchema } from '../../src/data/synthetic/stream.ts';

export const threadDataSchema = z
  .strictObject({
    threads: z
      .string()
      .nullable()
      .default(null)
      .describe('path of a thread file (JSON Lines, plain or gzip); null for the synthetic stream'),
    synthetic: syntheticOptionsSchema
      .prefault({})
      .describe('the synthetic stream, used where no path is given; `earshot data synth` makes the same ones as files'),
    skipInvalid: z.boolean().default(false).describe('leave invalid lines out instead of stopping'),
  })
  // Options of the synthetic stream mean nothing, and are left out, where a file of threads is given.
  .transform(({ threads, synthetic, skipInvalid }) =>
    threads === null ? { threads, synthetic, skipInvalid } : { threads, skipInvalid },
  )
  .describe('where the threads come from');
