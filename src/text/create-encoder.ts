import { z } from 'zod';
import { checked } from '../checked.ts';
import type { Encoder } from './encoder.ts';
import { createHashingEncoder, hashingEncoderOptionsSchema } from './hashing-encoder.ts';
import { createTransformersEncoder } from './transformers-encoder.ts';
import { transformersEncoderOptionsSchema } from './transformers-encoder-options.ts';
import { createUniversalSentenceEncoder, universalSentenceEncoderOptionsSchema } from './universal-sentence-encoder.ts';

/** One schema for the `encoder` part of every configuration. */
export const encoderSchema = z
  .discriminatedUnion('name', [
    hashingEncoderOptionsSchema.extend({
      name: z.literal('hashing').describe('hashed n-grams: any language, no download'),
    }),
    transformersEncoderOptionsSchema.extend({
      name: z.literal('transformers').describe('a pretrained transformer, from a folder or the hub'),
    }),
    universalSentenceEncoderOptionsSchema.extend({
      name: z
        .literal('universal-sentence-encoder')
        .describe('Google’s Universal Sentence Encoder Lite, English, from an npm package of 28 MB or a folder'),
    }),
  ])
  .describe('turns posts into vectors');

/** The `encoder` part with every default. */
export type EncoderConfig = z.infer<typeof encoderSchema>;

/** Makes an encoder. @throws InputError for invalid options or a missing model; ProviderError for a failed download */
export async function createEncoder(config: z.input<typeof encoderSchema>): Promise<Encoder> {
  const data = checked(encoderSchema, config, "the encoder's options are wrong");
  if (data.name === 'hashing') {
    const { name: _, ...options } = data;
    return createHashingEncoder(options);
  }
  if (data.name === 'universal-sentence-encoder') {
    const { name: _, ...options } = data;
    return createUniversalSentenceEncoder(options);
  }
  const { name: _, ...options } = data;
  return createTransformersEncoder(options);
}
