import * as z from 'zod/mini';

const ngrams = z.object({ min: z.int(), max: z.int(), weight: z.number() });

/** The built-in hashing encoder. Any program that has these options can run it. */
export const hashingIdentitySchema = z.object({
  name: z.literal('hashing'),
  version: z.literal(1),
  dimensions: z.int(),
  wordNgrams: ngrams,
  characterNgrams: ngrams,
  maskHandlesAndUrls: z.boolean(),
});
