import { z } from 'zod';
import type { Encoder } from './encoder.ts';
import { hashingVersion, textHasher } from './ngram-counts.ts';

const ngramsSchema = (name: string, defaults: { min: number; max: number; weight: number }) =>
  z
    .strictObject({
      min: z.int().min(1).max(8).default(defaults.min).describe(`shortest ${name} n-gram`),
      max: z.int().min(1).max(8).default(defaults.max).describe(`longest ${name} n-gram`),
      weight: z.number().min(0).default(defaults.weight).describe(`weight of a ${name} n-gram; 0 leaves them out`),
    })
    .refine((range) => range.min <= range.max, { error: 'min must not exceed max' })
    .prefault({});

/** Options of the encoder that needs no download. */
export const hashingEncoderOptionsSchema = z.strictObject({
  dimensions: z.int().min(2).max(65_536).default(256).describe('length of a vector'),
  wordNgrams: ngramsSchema('word', { min: 1, max: 2, weight: 1 }),
  characterNgrams: ngramsSchema('character', { min: 2, max: 4, weight: 0.5 }),
  maskHandlesAndUrls: z.boolean().default(true).describe('read every handle as @USER and every link as HTTPURL'),
});

/**
 * The encoder that needs no download: signed feature hashing (Weinberger et al., "Feature Hashing for Large Scale
 * Multitask Learning", 2009) of word and character n-grams, each counted sublinearly (1 + ln count), the sum scaled to
 * length 1. A text without letters and symbols is the zero vector. Vectors are the same on every machine, because no
 * locale, dictionary or random number is involved.
 * @throws ZodError for an option that is unknown or out of range
 */
export function createHashingEncoder(options: z.input<typeof hashingEncoderOptionsSchema> = {}): Encoder {
  const settings = hashingEncoderOptionsSchema.parse(options);
  const { dimensions } = settings;
  const encodeInto = textHasher(settings);

  return {
    dimensions,
    identity: { name: 'hashing', version: hashingVersion, ...settings },
    async encode(texts) {
      const vectors = new Float32Array(texts.length * dimensions);
      for (const [index, text] of texts.entries())
        encodeInto(text, vectors.subarray(index * dimensions, (index + 1) * dimensions));
      return vectors;
    },
  };
}
