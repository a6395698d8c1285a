import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Golden } from '../../../checkpoints/policy/golden.ts';
import { unicodeThreads } from '../../../checkpoints/policy/golden-inputs.ts';
import type { Guarantee } from '../../../checkpoints/policy/guarantee.ts';
import type { PolicySource } from '../../../checkpoints/policy/load-policy.ts';
import { bundleFiles, bundleFormat, bundleFormatVersion, type Manifest } from '../../../checkpoints/policy/manifest.ts';
import { type PolicyNetwork, stopProbabilitiesOf } from '../../../checkpoints/policy/network.ts';
import { embedder } from '../../../checkpoints/policy/prefix-reader.ts';
import { type Limits, stopIn } from '../../../checkpoints/policy/stops.ts';
import { bundleContents, weightsFile, writeBundle } from '../../../checkpoints/policy/write-bundle.ts';
import { floatsToBase64, integersToBase64 } from '../../../src/base64-floats.ts';
import type { PrefixModel } from '../../../src/data/prefix-model.ts';
import { tellingWords } from '../../../src/data/synthetic/words.ts';
import { Random } from '../../../src/tensor/random.ts';
import { ngramCounter } from '../../../src/text/ngram-counts.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

export const dimensions = 6;
export const encoder = {
  name: 'hashing' as const,
  version: 1 as const,
  dimensions,
  wordNgrams: { min: 1, max: 2, weight: 1 },
  characterNgrams: { min: 2, max: 4, weight: 0.5 },
  maskHandlesAndUrls: true,
};

/** Random weights, large enough that states differ in what they lead to. */
export function randomNetwork({ inputs, hidden = 5, seed = 1 }: { inputs: number; hidden?: number; seed?: number }) {
  const random = Random.seeded({ seed, purpose: 'test network' });
  const floats = (length: number) => Float32Array.from({ length }, () => random.normal());
  const network: PolicyNetwork = {
    hidden,
    layers: {
      w1: floats(inputs * hidden),
      b1: floats(hidden),
      w2: floats(hidden * hidden),
      b2: floats(hidden),
      w3: floats(hidden * 2),
      b3: floats(2),
    },
    moments: {
      mean: Float64Array.from(floats(inputs)),
      variance: Float64Array.from(floats(inputs), (value, index) => (index === 0 ? 0 : value * value + 0.01)),
    },
  };
  return network;
}

export const limits: Limits = { maxPosts: 10, deadline: { posts: null, hours: null } };

/** The states of a thread by their definition, written out: the sum of the posts, and of "Continue." but at the first. */
export function statesByHand(texts: readonly string[]): Float32Array {
  const embed = embedder(encoder);
  const continued = embed('Continue.');
  const rows = texts.map((_, step) =>
    Array.from({ length: dimensions }, (_, i) => {
      const sum = texts.slice(0, step + 1).reduce((total, text) => total + embed(text)[i], 0);
      return sum + (step === 0 ? 0 : continued[i]);
    }),
  );
  return Float32Array.from(rows.flat());
}

export function goldenOf(network: PolicyNetwork, thread: { id: string; texts: readonly string[] }): Golden {
  const states = statesByHand(thread.texts);
  const scores = [...stopProbabilitiesOf(network, states)];
  const stop = stopIn(
    { threshold: 0.5, limits },
    scores.map((score) => ({ score, hours: null })),
  );
  return {
    threadId: thread.id,
    texts: [...thread.texts],
    times: thread.texts.map(() => null),
    states: Buffer.from(states.buffer).toString('base64'),
    scores,
    postsUsed: stop.postsUsed,
    why: stop.why,
    queries: 1,
    judgements: [],
  };
}

export function smallManifest(parts: Partial<Manifest> = {}): Omit<Manifest, 'sha256' | 'files'> {
  return {
    format: bundleFormat,
    formatVersion: bundleFormatVersion,
    madeBy: { earshot: '0.0.0', commit: null, unicode: '15.0' },
    system: 'stop agent',
    task: { name: 'rumor', labels: ['non-rumor', 'rumor'] },
    encoder,
    state: {
      columns: dimensions,
      fields: [{ name: 'posts', from: 0, count: dimensions, meaning: 'sum' }],
      pooling: 'sum',
      previousActions: { continue: 'Continue.', stop: 'Stop.' },
    },
    queries: { lengths: [], actsAt: 'every-post', maxPosts: 10 },
    threshold: 0.5,
    limits,
    rule: 'the first post',
    weights: bundleFiles.weights,
    student: null,
    detector: null,
    readsTexts: true,
    training: { seed: 1, step: 1, experiment: {}, hashes: {} },
    measures: null,
    parity: { runtime: 'none', batches: [1], tolerance: 1e-5, largestDifference: 0, rows: {} },
    ...parts,
  };
}

/** Writes a bundle of random weights and returns its folder. */
export async function smallBundle(
  options: {
    manifest?: Partial<Manifest>;
    network?: PolicyNetwork;
    golden?: Golden[];
    files?: Record<string, string>;
  } = {},
): Promise<string> {
  const { manifest, network = randomNetwork({ inputs: dimensions }), files } = options;
  const golden = options.golden ?? unicodeThreads.map((thread) => goldenOf(network, thread));
  const folder = join(temporaryFolder({}), 'bundle');
  const contents = await bundleContents({
    manifest: smallManifest(manifest),
    files: {
      [bundleFiles.weights]: weightsFile(network),
      [bundleFiles.golden]: golden.map((thread) => `${JSON.stringify(thread)}\n`).join(''),
      ...files,
    },
  });
  writeBundle(folder, contents);
  return folder;
}

export function sourceOf(folder: string): PolicySource {
  return { read: (name) => readFile(join(folder, name)) };
}

/** A guarantee with this threshold, calibrated on claims that are unlike every other. */
export function smallGuarantee(threshold: number): Guarantee {
  const center = Buffer.from(Float32Array.from({ length: dimensions }, (_, i) => Number(i === 0)).buffer);
  return {
    loss: 'disagreement',
    level: 0.05,
    confidence: 0.9,
    threshold,
    threads: 50,
    losses: 0,
    bound: 0.045,
    er: 0.5,
    claims: { encoder, center: center.toString('base64'), threshold: 0.7 },
  };
}

const empty = { keys: '', idf: '', weights: '' };
const known = ngramCounter({ words: { min: 1, max: 1 }, characters: { min: 3, max: 3 } })(
  `a b c d نعم ${[...tellingWords.rumor, ...tellingWords.nonRumor].join(' ')}`,
).words.keys;

/** A detector whose only knowledge is whether a reply has a word that it knows: 1 in log-odds for a rumour, else −1. */
export const replyModel: PrefixModel = {
  labels: ['non-rumor', 'rumor'],
  ngrams: { version: 1, words: { min: 1, max: 1 }, characters: { min: 3, max: 3 } },
  claim: { words: empty, characters: empty },
  replies: {
    words: {
      keys: integersToBase64(known),
      idf: floatsToBase64(new Float32Array(known.length).fill(1)),
      weights: floatsToBase64(new Float32Array(known.length).fill(2)),
    },
    characters: empty,
  },
  loneClaimWeight: 1,
  intercepts: [0, -1],
  temperature: 1,
  offsets: [0, 0],
  calibration: { scale: 1, growth: 0, mostPosts: 1 },
  encoder: null,
};

/** The same with times: the faster the replies, the likelier a rumour. */
export const timedModel: PrefixModel = {
  ...replyModel,
  timing: {
    means: [2, 0, 1, 2],
    deviations: [1, 2, 1, 0],
    weights: floatsToBase64(Float32Array.of(0.5, 1, -1, 4)),
  },
};

export function textOf(folder: string, name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}
