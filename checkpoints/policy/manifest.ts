import * as z from 'zod/mini';
import { postPoolings } from '../../src/data/post-pooling.ts';
import { InputError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { type Guarantee, guaranteeSchema } from './guarantee.ts';
import { claimRegionSchema } from './out-of-distribution.ts';
import { fieldNames } from './state-fields.ts';

/* `manifest.json` describes a bundle for programs. zod/mini, because the reader also runs in browsers. */

export const bundleFormat = 'earshot-bundle';
export const bundleFormatVersion = 5;

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

/** The manifest is hashed with zeros in place of its own hash, which comes first so that its position is known. */
const manifestStart = '{\n  "sha256": "';
const blankDigest = '0'.repeat(64);

const digest = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const manifestSchema = z.object({
  sha256: digest,
  format: z.literal(bundleFormat),
  formatVersion: z.literal(bundleFormatVersion),
  madeBy: z.object({ earshot: z.string(), commit: z.nullable(z.string()), unicode: z.string() }),
  /** SHA-256 of every other file except the card. */
  files: z.record(z.string(), digest),
  /** The system's row in the report, such as "stop agent" or "after 1 h". */
  system: z.string(),
  task: z.object({
    name: z.string(),
    labels: z.array(z.string()),
    /** The only predictions that stop a thread early; any prediction if absent. */
    alerts: z.optional(z.array(z.string())),
  }),
  /** The encoder's identity with all its settings; null if posts are not part of the state. */
  encoder: z.nullable(z.record(z.string(), z.unknown())),
  state: z.object({
    columns: z.int(),
    /** The fields that make a state, in their order. */
    fields: z.array(z.object({ name: z.enum(fieldNames), from: z.int(), count: z.int(), meaning: z.string() })),
    /** How the embeddings of the posts read become one vector. */
    pooling: z.enum(postPoolings),
    previousActions: z.object({ continue: z.string(), stop: z.string() }),
  }),
  queries: z.object({
    /** Increasing numbers of posts at which the detector is queried before the stop. It is queried at the stop, too. */
    lengths: z.array(z.int()),
    actsAt: z.enum(['every-post', 'queried-posts']),
    /** Posts that the detector reads at most: at a later stop it is queried about this many. */
    maxPosts: z.int(),
  }),
  /** The policy stops if its score exceeds the threshold. A guarantee replaces it. */
  threshold: z.number(),
  limits: z.object({
    /** Posts that the policy reads at most. */
    maxPosts: z.int(),
    deadline: z.object({ posts: z.nullable(z.int()), hours: z.nullable(z.number()) }),
  }),
  /** The threshold and the limits in words. */
  rule: z.string(),
  /** The result of `earshot calibrate`; null or absent without a guarantee. */
  guarantee: z.optional(z.nullable(guaranteeSchema)),
  /** The region of the training threads' claims; null or absent if unknown. */
  trainedClaims: z.optional(z.nullable(claimRegionSchema)),
  /** The file of the network that computes the score; null for a rule, whose state is its score. */
  weights: z.nullable(z.string()),
  /** The file of the classifier whose confidence is part of the state; null without a student. */
  student: z.nullable(z.string()),
  /** The file of the detector that is queried at the stop; null for a language model or a service. */
  detector: z.nullable(z.string()),
  /** Whether the bundle decides from texts alone. Otherwise, the caller makes the states. */
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

/** Parses a JSON file of a bundle. @throws InputError that names the file and the problem */
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

/** Adds a manifest's own hash to it. */
export async function manifestText(manifest: object): Promise<string> {
  const blank = `${JSON.stringify({ sha256: blankDigest, ...manifest }, null, 2)}\n`;
  const sha256 = await sha256Hex(new TextEncoder().encode(blank));
  return blank.replace(blankDigest, sha256);
}

/** @throws InputError for an altered manifest, or the manifest of something else */
export async function readManifest(text: string): Promise<Manifest> {
  const { manifest: name } = bundleFiles;
  if (!text.startsWith(manifestStart))
    throw new InputError(
      `${name} is not the manifest of a policy; give a folder that \`earshot train\` or \`earshot export\` made`,
    );
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

/** @throws InputError that names the file whose content changed after the export */
async function checkDigest(
  bytes: Uint8Array,
  { name, sha256 }: { name: string; sha256: string | undefined },
): Promise<void> {
  const actual = await sha256Hex(bytes);
  if (actual !== sha256)
    throw new InputError(
      sha256 === undefined
        ? `${name} is not listed in the manifest; export the bundle again`
        : `${name} was changed after the export: its SHA-256 is ${actual}, and the manifest says ${sha256}; copy the bundle again`,
    );
}

/** Identifies a policy by its files, which no guarantee changes. */
export async function policyDigest({ files }: Pick<Manifest, 'files'>): Promise<string> {
  const entries = Object.entries(files).map(([name, sha256]) => `${name} ${sha256}`);
  return sha256Hex(new TextEncoder().encode(entries.sort().join('\n')));
}

/** Uses Web Crypto, which browsers have on secure pages only. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns the bytes of a file of a bundle. */
export type ReadFile = (name: string) => Promise<Uint8Array | ArrayBuffer>;

/** A bundle whose files are checked against the hashes of its manifest. */
export interface Bundle {
  readonly manifest: Manifest;
  file(name: string): Promise<Uint8Array>;
  text(name: string): Promise<string>;
  json<Schema extends z.ZodMiniType>(name: string, schema: Schema): Promise<z.output<Schema>>;
  /** The hashes of threads that a file lists; none if the bundle lacks it. */
  identities(name: string): Promise<ReadonlySet<string>>;
}

export async function openBundle(read: ReadFile): Promise<Bundle> {
  const bytesOf = async (name: string) => asBytes(await read(name), name);
  const manifest = await readManifest(new TextDecoder().decode(await bytesOf(bundleFiles.manifest)));
  const file = async (name: string) => {
    const bytes = await bytesOf(name);
    await checkDigest(bytes, { name, sha256: manifest.files[name] });
    return bytes;
  };
  const text = async (name: string) => new TextDecoder().decode(await file(name));
  const json: Bundle['json'] = async (name, schema) => parseBundleJson(await text(name), { name, schema });
  const identities = async (name: string) =>
    new Set(manifest.files[name] === undefined ? [] : await json(name, z.array(z.string())));
  return { manifest, file, text, json, identities };
}

/** Returns a function that fetches a file by its name from a folder on a server. */
export function fetcherOf(folder: URL | string): ReadFile {
  return async (name) => {
    if (!URL.canParse(String(folder)))
      throw new InputError(`${folder} is no address; give one, or { read }, which gives the bytes of a file`);
    // Without the slash, the file name would replace the last part of the folder's address.
    const address = new URL(name, String(folder).replace(/\/?(?=$|[?#])/, '/'));
    const response = await fetch(address).catch(String);
    if (typeof response !== 'string' && response.ok) return response.arrayBuffer();
    const problem = typeof response === 'string' ? response : `status ${response.status}`;
    throw new InputError(`${address} cannot be fetched: ${problem}; give the folder of a bundle`);
  };
}

/** @throws InputError for any other value, which callers without types may give */
function asBytes(content: Uint8Array | ArrayBuffer, name: string): Uint8Array {
  if (content instanceof Uint8Array) return content;
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  throw new InputError(`read gave a ${typeof content} for ${name}, not bytes`);
}

/* A guarantee holds by construction on its calibration threads, so audits leave them out: they are no evidence. */

/** 16 digits identify one of a few thousand threads. */
const digits = 16;

/** The form of a thread in a guarantee's list. @param identity the thread's hash in `trained.json` */
export function listedIdentity(identity: string): string {
  return identity.slice(0, digits);
}

/** Names a thread by its id and claim, as a run and the reader in Python do: SHA-256 of JSON whose keys are sorted. */
export function claimIdentity({ id, claim }: { readonly id: string; readonly claim: string }): Promise<string> {
  return sha256Hex(new TextEncoder().encode(JSON.stringify({ claim, id })));
}

/** Returns a test whether a guarantee was calibrated on a thread; false for every thread if that is unknown. */
export function calibratedOn(
  guarantee: Pick<Guarantee, 'calibratedOn'> | null,
): (thread: { readonly id: string; readonly claim: string }) => Promise<boolean> {
  const listed = new Set(guarantee?.calibratedOn ?? []);
  return async (thread) => listed.size > 0 && listed.has(listedIdentity(await claimIdentity(thread)));
}
