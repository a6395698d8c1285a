import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { loadPolicy, type Policy, type PolicySource } from '../../checkpoints/policy/load-policy.ts';
import { bundleFiles, checkDigest, parseBundleJson, readManifest } from '../../checkpoints/policy/manifest.ts';
import { canonicalJson } from '../../src/content-hash.ts';
import { diskError, InputError } from '../../src/errors.ts';
import { createEncoder, encoderSchema } from '../../src/text/create-encoder.ts';

/**
 * Loads the policy of a bundle. Its encoder is made here where the bundle does not hold it.
 * @throws InputError that names a file which is missing or was changed, or the golden thread that is decided differently
 */
export async function policyOfBundle(folder: string, judge?: PolicySource['judge']): Promise<Policy> {
  const embed = await encoderOfBundle(await bundleFile(folder, bundleFiles.manifest));
  return loadPolicy({ read: (name) => bundleFile(folder, name), embed, judge });
}

/** The identities of threads that files of a bundle list. */
export async function listedBy(
  folder: string,
  { manifest }: Policy,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const listed = new Set<string>();
  for (const name of names) {
    const bytes = await bundleFile(folder, name);
    await checkDigest(bytes, { name, sha256: manifest.files[name] });
    const hashes = parseBundleJson(new TextDecoder().decode(bytes), { name, schema: z.array(z.string()) });
    for (const hash of hashes) listed.add(hash);
  }
  return listed;
}

async function bundleFile(folder: string, name: string): Promise<Uint8Array> {
  const path = join(folder, name);
  try {
    return await readFile(path);
  } catch (error) {
    throw diskError(error, { what: `read ${path} of the bundle` });
  }
}

/** The encoder of a bundle that does not hold it; undefined where none is needed. */
async function encoderOfBundle(manifestBytes: Uint8Array): Promise<PolicySource['embed']> {
  const manifest = await readManifest(new TextDecoder().decode(manifestBytes));
  if (manifest.encoder === null || manifest.encoder.name === 'hashing') return undefined;
  const encoder = await createEncoder(encoderSchema.parse(manifest.training.experiment.encoder));
  if (canonicalJson(encoder.identity) !== canonicalJson(manifest.encoder))
    throw new InputError(
      `the bundle was made with the encoder ${JSON.stringify(manifest.encoder)}, and this is ${JSON.stringify(encoder.identity)}; use the same model files`,
    );
  return (texts) => encoder.encode(texts);
}
