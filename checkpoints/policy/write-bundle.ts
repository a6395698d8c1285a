import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolders, writeFileAtomically } from '../../src/atomic-file.ts';
import { diskError, InputError } from '../../src/errors.ts';
import { tensorFile } from '../tensor-file.ts';
import { type Guarantee, stopRuleInWords } from './guarantee.ts';
import { bundleFiles, manifestText, readManifest, sha256Hex } from './manifest.ts';
import { actionCount, columnsOfNetwork, type PolicyNetwork } from './network.ts';
import { cardWithGuarantee } from './policy-card.ts';
import type { PolicyProjection } from './read-weights.ts';

/** The bytes of every file of a bundle by its name: the given ones, and `manifest.json` with the hash of each but the card. */
export async function bundleContents(options: {
  manifest: { readonly format: string; readonly formatVersion: number; readonly madeBy: object };
  files: Readonly<Record<string, string | Uint8Array>>;
}): Promise<ReadonlyMap<string, Uint8Array>> {
  const contents = new Map(
    Object.entries(options.files).map(([name, content]) => [
      name,
      typeof content === 'string' ? new TextEncoder().encode(content) : content,
    ]),
  );
  const hashes: Record<string, string> = {};
  // The card is for people. Without its hash, a new guarantee replaces one file, which is there before or after it.
  for (const [name, bytes] of contents) if (name !== bundleFiles.card) hashes[name] = await sha256Hex(bytes);
  const { format, formatVersion, madeBy, ...rest } = options.manifest;
  const manifest = await manifestText({ format, formatVersion, madeBy, files: hashes, ...rest });
  return contents.set(bundleFiles.manifest, new TextEncoder().encode(manifest));
}

/**
 * Writes a bundle. The folder appears whole or not at all.
 * @throws InputError for a folder that is not empty, or where the disk refuses
 */
export function writeBundle(folder: string, contents: ReadonlyMap<string, Uint8Array>): void {
  checkFree(folder);
  const unfinished = `${folder.replace(/\/+$/, '')}.${process.pid}.unfinished`;
  try {
    makeFolders(unfinished);
    for (const [name, bytes] of contents) writeFileAtomically(join(unfinished, name), bytes);
    rmSync(folder, { recursive: true, force: true });
    renameSync(unfinished, folder);
  } catch (error) {
    throw diskError(error, { what: `write the bundle ${folder}` });
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/**
 * Puts a guarantee into the manifest and the card of a bundle.
 * @throws InputError for a folder without a bundle, or where the disk refuses
 */
export async function guaranteeInBundle(folder: string, guarantee: Guarantee): Promise<void> {
  const paths = { manifest: join(folder, bundleFiles.manifest), card: join(folder, bundleFiles.card) };
  try {
    const text = readFileSync(paths.manifest, 'utf8');
    const { rule, limits, task } = await readManifest(text);
    const { sha256: _, ...manifest } = z.looseObject({}).parse(JSON.parse(text));
    const guaranteed = stopRuleInWords({ threshold: guarantee.threshold, limits, alerts: task.alerts });
    const card = cardWithGuarantee(readFileSync(paths.card, 'utf8'), { rule, guaranteed, guarantee });
    writeFileAtomically(paths.manifest, await manifestText({ ...manifest, rule: guaranteed, guarantee }));
    writeFileAtomically(paths.card, card);
  } catch (error) {
    throw diskError(error, { what: `write the guarantee into the bundle ${folder}` });
  }
}

/** The weights as safetensors: the policy's network, the normaliser in double precision, and the projection of embeddings if any. */
export function weightsFile(network: PolicyNetwork, projection: PolicyProjection | null = null): Buffer {
  const { hidden, layers, moments } = network;
  const { mean, variance } = moments;
  return tensorFile({
    arrays: {
      mean: { shape: [mean.length], data: mean },
      variance: { shape: [variance.length], data: variance },
      ...(projection !== null && {
        projection: { shape: [projection.inputs, projection.components], data: projection.weights },
      }),
      w1: { shape: [columnsOfNetwork(network), hidden], data: layers.w1 },
      b1: { shape: [hidden], data: layers.b1 },
      w2: { shape: [hidden, hidden], data: layers.w2 },
      b2: { shape: [hidden], data: layers.b2 },
      w3: { shape: [hidden, actionCount], data: layers.w3 },
      b3: { shape: [actionCount], data: layers.b3 },
    },
    metadata: { earshot: 'policy' },
  });
}

/** An empty folder may be taken; anything else is somebody's. */
export function checkFree(folder: string): void {
  if (!existsSync(folder)) return;
  let present: string[];
  try {
    present = readdirSync(folder);
  } catch (error) {
    throw diskError(error, { what: `write a bundle to ${folder}` });
  }
  if (present.length > 0)
    throw new InputError(
      `${folder} is not empty (${present.slice(0, 3).join(', ')}); choose a new folder, or delete this one`,
    );
}
