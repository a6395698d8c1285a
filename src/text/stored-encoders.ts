import { canonicalJson } from '../content-hash.ts';
import { createEncoder, type EncoderConfig } from './create-encoder.ts';
import { EmbeddingStore } from './embedding-store.ts';
import type { Encoder } from './encoder.ts';

/** Gives the encoder of a configuration, the same one each time. */
export type Encoders = (config: EncoderConfig) => Promise<Encoder>;

/**
 * Encoders that keep their vectors in a folder, so that each text is encoded once whoever reads it. Hashing takes no longer than
 * looking a vector up, so its vectors are not kept.
 */
export function storedEncoders({ directory }: { directory: string }): Encoders {
  const made = new Map<string, Promise<Encoder>>();
  return (config) => {
    const key = canonicalJson(config);
    const encoder =
      made.get(key) ?? (config.name === 'hashing' ? createEncoder(config) : storedEncoder(config, directory));
    made.set(key, encoder);
    return encoder;
  };
}

async function storedEncoder(config: EncoderConfig, directory: string): Promise<Encoder> {
  const encoder = await createEncoder(config);
  const store = await EmbeddingStore.open({ encoder, directory });
  return { ...encoder, encode: (texts) => store.embed(texts) };
}
