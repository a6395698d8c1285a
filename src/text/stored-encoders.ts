import { canonicalJson } from '../content-hash.ts';
import { PromiseCache } from '../promise-cache.ts';
import { createEncoder, type EncoderConfig } from './create-encoder.ts';
import { EmbeddingStore } from './embedding-store.ts';
import type { Encoder } from './encoder.ts';

/** Returns the encoder of a configuration, the same object each time. */
export type Encoders = (config: EncoderConfig) => Promise<Encoder>;

/**
 * Encoders that store their vectors in a folder, so that each text is encoded once for all readers. Hashing takes no
 * longer than a look-up, so its vectors are not stored.
 */
export function storedEncoders({ directory }: { directory: string }): Encoders {
  const encoders = new PromiseCache<Encoder>();
  return (config) =>
    encoders.get(canonicalJson(config), () =>
      config.name === 'hashing' ? createEncoder(config) : storedEncoder(config, directory),
    );
}

async function storedEncoder(config: EncoderConfig, directory: string): Promise<Encoder> {
  const encoder = await createEncoder(config);
  const store = await EmbeddingStore.open({ encoder, directory });
  return { ...encoder, encode: (texts) => store.embed(texts) };
}
