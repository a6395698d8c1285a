import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleFiles, readManifest } from '../checkpoints/bundle/manifest.ts';
import { readWeights } from '../checkpoints/bundle/read-weights.ts';
import { bundleContents, weightsFile, writeBundle } from '../checkpoints/bundle/write-bundle.ts';

/** Writes a bundle again with a policy that never stops, so that threads stay open. What a post costs stays as it was. */
export async function writeNeverStopping(bundle: string, out: string): Promise<void> {
  const manifest = await readManifest(readFileSync(join(bundle, bundleFiles.manifest), 'utf8'));
  const network = readWeights(readFileSync(join(bundle, bundleFiles.weights)), manifest);
  network.layers.b3.set([100, -100]);
  const { files: listed, sha256: _, ...rest } = manifest;
  const files = Object.fromEntries(Object.keys(listed).map((name) => [name, readFileSync(join(bundle, name))]));
  const replaced = { [bundleFiles.weights]: weightsFile(network), [bundleFiles.golden]: '' };
  writeBundle(out, await bundleContents({ manifest: rest, files: { ...files, ...replaced } }));
}
