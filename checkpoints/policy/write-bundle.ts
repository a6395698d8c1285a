import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolders, writeFileAtomically } from '../../src/atomic-file.ts';
import { diskError, InputError, onDisk } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { tensorFile } from '../tensor-file.ts';
import { type Guarantee, stopRuleInWords } from './guarantee.ts';
import { bundleFiles, bundleFormat, manifestText, readManifest, sha256Hex } from './manifest.ts';
import { actionCount, columnsOfNetwork, type PolicyNetwork } from './network.ts';
import { cardWithGuarantee } from './policy-card.ts';

/** Adds `manifest.json`, which has the hash of each file except the card, to the files of a bundle. */
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
  // The card is for people. It has no hash, so that a new guarantee replaces the manifest alone, in one step.
  for (const [name, bytes] of contents) if (name !== bundleFiles.card) hashes[name] = await sha256Hex(bytes);
  const { format, formatVersion, madeBy, ...rest } = options.manifest;
  const manifest = await manifestText({ format, formatVersion, madeBy, files: hashes, ...rest });
  return contents.set(bundleFiles.manifest, new TextEncoder().encode(manifest));
}

/** Writes a bundle, whole or not at all. @throws as `checkFree`, and InputError if the disk refuses */
export function writeBundle(
  folder: string,
  contents: ReadonlyMap<string, Uint8Array>,
  { force = false }: { force?: boolean } = {},
): void {
  checkFree(folder, { force });
  const beside = `${folder.replace(/\/+$/, '')}.${process.pid}`;
  const [unfinished, earlier] = [`${beside}.unfinished`, `${beside}.earlier`];
  try {
    makeFolders(unfinished);
    for (const [name, bytes] of contents) writeFileAtomically(join(unfinished, name), bytes);
    if (existsSync(folder)) renameSync(folder, earlier);
    renameSync(unfinished, folder);
    rmSync(earlier, { recursive: true, force: true });
  } catch (error) {
    if (existsSync(earlier) && !existsSync(folder)) renameSync(earlier, folder);
    throw diskError(error, { what: `write the bundle ${folder}` });
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** A line for each guarantee that another one replaced, so that earlier promises can be looked up. */
const earlierGuarantees = 'earlier-guarantees.jsonl';

/**
 * Puts a guarantee into a bundle and keeps the earlier one in a file.
 * @throws InputError for a folder without a bundle, or if the disk refuses
 */
export async function guaranteeInBundle(folder: string, guarantee: Guarantee): Promise<void> {
  const paths = { manifest: join(folder, bundleFiles.manifest), card: join(folder, bundleFiles.card) };
  try {
    const text = readFileSync(paths.manifest, 'utf8');
    const { rule, limits, task, guarantee: earlier = null } = await readManifest(text);
    const { sha256: _, ...manifest } = z.looseObject({}).parse(JSON.parse(text));
    const guaranteed = stopRuleInWords({ threshold: guarantee.threshold, limits, alerts: task.alerts });
    const card = cardWithGuarantee(readFileSync(paths.card, 'utf8'), { rule, guaranteed, guarantee });
    if (earlier !== null) {
      const line = { ...earlier, replaced: new Date().toISOString() };
      appendFileSync(join(folder, earlierGuarantees), `${JSON.stringify(line)}\n`);
    }
    writeFileAtomically(paths.manifest, await manifestText({ ...manifest, rule: guaranteed, guarantee }));
    writeFileAtomically(paths.card, card);
  } catch (error) {
    throw diskError(error, { what: `write the guarantee into the bundle ${folder}` });
  }
}

/** Writes the network, and the moments in double precision, as safetensors. */
export function weightsFile(network: PolicyNetwork): Buffer {
  const { hidden, layers, moments } = network;
  const { mean, variance } = moments;
  return tensorFile({
    arrays: {
      mean: { shape: [mean.length], data: mean },
      variance: { shape: [variance.length], data: variance },
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

/** Accepts an empty folder and, with `force`, an earlier bundle. @throws InputError for any other folder */
export function checkFree(folder: string, { force = false }: { force?: boolean } = {}): void {
  if (!existsSync(folder)) return;
  const present = onDisk(`write a bundle to ${folder}`, () => readdirSync(folder));
  const problem = present.length === 0 ? null : problemOf(present, { bundled: filesOfBundle(folder), force });
  if (problem !== null) throw new InputError(`${folder} ${problem}`);
}

function problemOf(
  present: readonly string[],
  { bundled, force }: { bundled: ReadonlySet<string> | null; force: boolean },
): string | null {
  if (bundled === null)
    return `is not empty (${present.slice(0, 3).join(', ')}); choose a new folder, or delete this one`;
  if (!force) return 'holds a bundle already; write over it with --force, or choose a new folder';
  const others = present.filter((name) => !bundled.has(name));
  return others.length === 0
    ? null
    : `holds a bundle and ${others.slice(0, 3).join(', ')} beside it, which --force would delete; move that away, or choose a new folder`;
}

/** The names of the files of a bundle of any version; null for a folder without one. */
function filesOfBundle(folder: string): ReadonlySet<string> | null {
  const path = join(folder, bundleFiles.manifest);
  if (!existsSync(path)) return null;
  const parsed = listedFilesSchema.safeParse(jsonOrUndefined(readFileSync(path, 'utf8')));
  if (!parsed.success) return null;
  return new Set([...Object.keys(parsed.data.files), bundleFiles.manifest, bundleFiles.card, earlierGuarantees]);
}

const listedFilesSchema = z.object({ format: z.literal(bundleFormat), files: z.record(z.string(), z.string()) });
