import { z } from 'zod';
import type { Encoder } from './encoder.ts';
import { HashedCounts } from './hashed-counts.ts';
import { TextScanner } from './text-scanner.ts';

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

/** The options with every default filled in. */
export type HashingEncoderOptions = z.infer<typeof hashingEncoderOptionsSchema>;

/** Raise this with every change to this file, the scanner or the normalisation that changes a vector. */
const VERSION = 1;

const WORD_SEED = 0x776f7264;
const CHARACTER_SEED = 0x63686172;

/**
 * The encoder that needs no download: signed feature hashing (Weinberger et al., "Feature Hashing for Large Scale
 * Multitask Learning", 2009) of word and character n-grams, each counted sublinearly (1 + ln count), the sum scaled to
 * length 1. A text without letters and symbols is the zero vector. Vectors are the same on every machine, because no
 * locale, dictionary or random number is involved.
 * @throws ZodError for an option that is unknown or out of range
 */
export function createHashingEncoder(options: z.input<typeof hashingEncoderOptionsSchema> = {}): Encoder {
  const settings = hashingEncoderOptionsSchema.parse(options);
  const { dimensions, wordNgrams, characterNgrams } = settings;
  const scanner = new TextScanner({ maskHandlesAndUrls: settings.maskHandlesAndUrls });
  const counts = new HashedCounts();

  function encodeInto(text: string, row: Float32Array): void {
    scanner.scan(text);
    if (wordNgrams.weight > 0) {
      // Word n-grams cross punctuation, because a post is too short to lose the pairs around a comma.
      counts.addNgrams({ items: scanner.words, from: 0, to: scanner.wordCount, seed: WORD_SEED, ...wordNgrams });
      counts.drainInto({ row, weight: wordNgrams.weight });
    }
    if (characterNgrams.weight > 0) {
      for (let run = 0; run < scanner.runCount; run++)
        counts.addNgrams({
          items: scanner.characters,
          from: scanner.runStarts[run],
          to: scanner.runEnds[run],
          seed: CHARACTER_SEED,
          min: characterNgrams.min,
          max: characterNgrams.max,
        });
      counts.drainInto({ row, weight: characterNgrams.weight });
    }
    scaleToUnitLength(row);
  }

  return {
    dimensions,
    identity: { name: 'hashing', version: VERSION, ...settings },
    async encode(texts) {
      const vectors = new Float32Array(texts.length * dimensions);
      for (const [index, text] of texts.entries())
        encodeInto(text, vectors.subarray(index * dimensions, (index + 1) * dimensions));
      return vectors;
    },
  };
}

function scaleToUnitLength(row: Float32Array): void {
  let squares = 0;
  for (let index = 0; index < row.length; index++) squares += row[index] * row[index];
  if (squares === 0) return;
  const scale = 1 / Math.sqrt(squares);
  for (let index = 0; index < row.length; index++) row[index] *= scale;
}
