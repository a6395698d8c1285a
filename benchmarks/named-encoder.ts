import { join } from 'node:path';
import { encoderSchema } from '../src/text/create-encoder.ts';
import type { Encoder } from '../src/text/encoder.ts';
import { storedEncoders } from '../src/text/stored-encoders.ts';

/** Hashed words, as in the recipes on real threads. */
export const hashedWords = '{ "name": "hashing", "dimensions": 2048, "characterNgrams": { "weight": 0 } }';

/** An encoder given as in an experiment, in JSON. Its vectors are kept where runs keep them. */
export function namedEncoder(json: string, { runs }: { runs: string }): Promise<Encoder> {
  return storedEncoders({ directory: join(runs, 'cache', 'embeddings') })(encoderSchema.parse(JSON.parse(json)));
}
