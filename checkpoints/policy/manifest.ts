import * as z from 'zod/mini';
import { postPoolings } from '../../src/data/post-pooling.ts';
import { InputError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { guaranteeSchema } from './guarantee.ts';
import { claimRegionSchema } from './out-of-distribution.ts';
import { fieldNames } from './state-fields.ts';

/*
 * `manifest.json`: what a bundle is, in a form that programs read. zod/mini, because the reader also runs in browsers.
 */

export const bundleFormat = 'earshot-bundle';
export const bundleFormatVersion = 4;

/** Files of a bundle. */
export const bundleFiles = {
  manifest: 'manifest.json',
  onnx: 'policy.onnx',
  weights: 'policy.safetensors',
  golden: 'golden.jsonl',
  characters: 'characters.json',
  trained: 'trained.json',
  tested: 'tested.json',
  refusals: 'refusals.jsonl',
  student: 'student.json',
  detector: 'detector.json',
  python: 'earshot_policy.py',
  card: 'README.md',
} as const;

/** The manifest is hashed with zeros in the place of its own hash, which stands first so that the place is known. */
const manifestStart = '{\n  "sha256": "';
const blankDigest = '0'.repeat(64);

const digest = z.string().check(z.regex(/^[0-9a-f]{64}$/));
export const manifestSchema = z.object({
  sha256: digest,
  format: z.literal(bundleFormat),
  formatVersion: z.literal(bundleFormatVersion),
  madeBy: z.object({ earshot: z.string(), commit: z.nullable(z.string()), unicode: z.string() }),
  /** SHA-256 of every other file but the card. */
  files: z.record(z.string(), digest),
  /** The row of the report that this is, such as "stop agent" or "after 1 h". */
  system: z.string(),
  task: z.object({
    name: z.string(),
    labels: z.array(z.string()),
    /** The policy stops early with these predictions alone; with any where there is no such list. */
    alerts: z.optional(z.array(z.string())),
  }),
  /** The identity of the encoder, all settings included; null where posts are not part of the state. */
  encoder: z.nullable(z.record(z.string(), z.unknown())),
  state: z.object({
    columns: z.int(),
    /** Where each number of a state comes from, in their order. */
    fields: z.array(z.object({ name: z.enum(fieldNames), from: z.int(), count: z.int(), meaning: z.string() })),
    /** How the embeddings of the posts read become one vector. */
    pooling: z.enum(postPoolings),
    /** Whether embeddings are projected first, by the array `projection` of the weights. */
    isProjected: z.boolean(),
    previousActions: z.object({ continue: z.string(), stop: z.string() }),
  }),
  queries: z.object({
    /** Numbers of posts at which the detector is queried until the policy stops, increasing; it is queried at the stop, too. */
    lengths: z.array(z.int()),
    actsAt: z.enum(['every-post', 'queried-posts']),
    /** The detector reads no further: at a later stop it is queried about this many posts. */
    maxPosts: z.int(),
  }),
  /** The policy stops where its score exceeds this, unless a guarantee gives another threshold. */
  threshold: z.number(),
  limits: z.object({
    /** Later posts are not read. */
    maxPosts: z.int(),
    deadline: z.object({ posts: z.nullable(z.int()), hours: z.nullable(z.number()) }),
  }),
  /** The same in words. */
  rule: z.string(),
  /** What `earshot calibrate` found; null or absent where there is no guarantee. */
  guarantee: z.optional(z.nullable(guaranteeSchema)),
  /** Where the claims of its training threads lie; null or absent where that is not known. */
  trainedClaims: z.optional(z.nullable(claimRegionSchema)),
  /** The file of the network whose output is the score; null where the state is a single number, which is the score. */
  weights: z.nullable(z.string()),
  /** The file of the classifier whose confidence is part of the state. */
  student: z.nullable(z.string()),
  /** The file of the detector that is asked at the stop; null where it is a language model or a service. */
  detector: z.nullable(z.string()),
  /** What can decide from texts alone; where it is false, the caller has to make the states. */
  readsTexts: z.boolean(),
  training: z.object({
    seed: z.int(),
    step: z.int(),
    experiment: z.record(z.string(), z.unknown()),
    hashes: z.record(z.string(), z.string()),
  }),
  measures: z.nullable(
    z.object({ threads: z.int(), systems: z.array(z.looseObject({ name: z.string(), queries: z.string() })) }),
  ),
  parity: z.object({
    runtime: z.string(),
    batches: z.array(z.int()),
    tolerance: z.number(),
    largestDifference: z.number(),
    rows: z.record(z.string(), z.int()),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;

const versionSchema = z.object({ formatVersion: z.int(), madeBy: z.object({ earshot: z.string() }) });

/** A JSON file of a bundle, checked. @throws InputError that names the file and what is wrong with it */
export function parseBundleJson<Schema extends z.ZodMiniType>(
  text: string,
  { name, schema }: { name: string; schema: Schema },
): z.output<Schema> {
  const parsed = z.safeParse(schema, jsonOrUndefined(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InputError(
    `${name} is not what this Earshot reads (${issue.path.join('.') || 'the whole'}: ${issue.message}); export the run again with this version`,
  );
}

/** The text of a manifest with its own hash in it. */
export async function manifestText(manifest: object): Promise<string> {
  const blank = `${JSON.stringify({ sha256: blankDigest, ...manifest }, null, 2)}\n`;
  const sha256 = await sha256Hex(new TextEncoder().encode(blank));
  return blank.replace(blankDigest, sha256);
}

/** @throws InputError for a text that was altered, or is the manifest of something else */
export async function readManifest(text: string): Promise<Manifest> {
  const { manifest: name } = bundleFiles;
  if (!text.startsWith(manifestStart))
    throw new InputError(`${name} is not the manifest of a bundle; give a folder that \`earshot export\` made`);
  const end = manifestStart.length + blankDigest.length;
  const stored = text.slice(manifestStart.length, end);
  const blank = `${manifestStart}${blankDigest}${text.slice(end)}`;
  await checkDigest(new TextEncoder().encode(blank), { name, sha256: stored });
  const { formatVersion, madeBy } = parseBundleJson(text, { name, schema: versionSchema });
  if (formatVersion !== bundleFormatVersion)
    throw new InputError(
      `the bundle was made by Earshot ${madeBy.earshot} in format ${formatVersion}, and this version reads format ${bundleFormatVersion}; export the run again`,
    );
  return parseBundleJson(text, { name, schema: manifestSchema });
}

/** @throws InputError that names the file whose content is not what was exported */
export async function checkDigest(
  bytes: Uint8Array,
  { name, sha256 }: { name: string; sha256: string | undefined },
): Promise<void> {
  if (sha256 === undefined) throw new InputError(`${name} is not listed in the manifest; export the bundle again`);
  const found = await sha256Hex(bytes);
  if (found !== sha256)
    throw new InputError(
      `${name} was changed after the export: its SHA-256 is ${found}, and the manifest says ${sha256}; copy the bundle again`,
    );
}

/** Names a policy by its files, which no guarantee changes. */
export async function policyDigest({ files }: Pick<Manifest, 'files'>): Promise<string> {
  const own = Object.entries(files).map(([name, sha256]) => `${name} ${sha256}`);
  return sha256Hex(new TextEncoder().encode(own.sort().join('\n')));
}

/** By Web Crypto, which browsers have on secure pages only. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
