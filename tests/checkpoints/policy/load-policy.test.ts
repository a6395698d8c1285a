import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, describe, expect, it } from 'vitest';
import { loadPolicy } from '../../../checkpoints/policy/load-policy.ts';
import { bundleFiles } from '../../../checkpoints/policy/manifest.ts';
import { stopProbabilitiesOf } from '../../../checkpoints/policy/network.ts';
import type { PolicyPost } from '../../../checkpoints/policy/policy-post.ts';
import {
  dimensions,
  goldenOf,
  randomNetwork,
  replyModel,
  smallBundle,
  smallGuarantee,
  sourceOf,
  statesByHand,
  textOf,
  timedModel,
} from './small-bundle.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const thread = (texts: readonly string[]) => ({ posts: texts.map((text) => ({ text })) });
const texts = ['a claim', 'is it true?', 'نعم', '谣言', '😱😱'];

describe('a policy loaded from a bundle', () => {
  it('decides by the states that the manifest defines', async () => {
    const network = randomNetwork({ inputs: dimensions });
    const policy = await loadPolicy(sourceOf(await smallBundle({ network })));
    const decision = await policy.decide(thread(texts));
    const scores = [...stopProbabilitiesOf(network, statesByHand(texts))];
    const first = scores.findIndex((score) => score > 0.5);
    const postsUsed = first >= 0 ? first + 1 : texts.length;
    expect(decision).toMatchObject({
      why: first >= 0 ? 'threshold' : 'end',
      postsUsed,
      scores: scores.slice(0, postsUsed),
      prediction: null,
      queries: 0,
    });
    await expect(policy.decide({ posts: [] })).rejects.toThrow('a thread needs at least one post');
  });

  it('never stops, or stops at once, as the bias says', async () => {
    for (const [bias, expected] of [
      [-50, { why: 'end', postsUsed: 5 }],
      [50, { why: 'threshold', postsUsed: 1 }],
    ] as const) {
      const network = randomNetwork({ inputs: dimensions });
      network.layers.b3.set([0, bias]);
      const policy = await loadPolicy(sourceOf(await smallBundle({ network })));
      expect(await policy.decide(thread(texts))).toMatchObject(expected);
      const long = await policy.decide(thread(Array(15).fill('again')));
      expect(long).toMatchObject({ postsUsed: bias < 0 ? 10 : 1 });
    }
  });

  it('stops above the threshold of its guarantee, and says which claims that is about', async () => {
    const network = randomNetwork({ inputs: dimensions });
    const plain = await loadPolicy(sourceOf(await smallBundle({ network })));
    expect((await plain.decide(thread(texts))).outOfDistribution).toBeNull();
    const scores = [...stopProbabilitiesOf(network, statesByHand(texts))];
    const sorted = scores.toSorted((a, b) => a - b);
    for (const threshold of [...sorted, 1]) {
      const manifest = { guarantee: smallGuarantee(threshold) };
      const policy = await loadPolicy(sourceOf(await smallBundle({ network, manifest })));
      const first = scores.findIndex((score) => score > threshold);
      const decision = await policy.decide(thread(texts));
      expect(decision).toMatchObject({ postsUsed: first >= 0 ? first + 1 : texts.length });
      const [along] = statesByHand(texts.slice(0, 1));
      expect(decision.outOfDistribution?.score).toBeCloseTo(1 - along, 6);
      expect(decision.outOfDistribution?.isFlagged).toBe(1 - along > 0.7);
    }
    const trainedClaims = { ...smallGuarantee(1).claims, threshold: 2 };
    const unguaranteed = await loadPolicy(sourceOf(await smallBundle({ network, manifest: { trainedClaims } })));
    expect((await unguaranteed.decide(thread(texts))).outOfDistribution).toEqual({
      score: expect.any(Number),
      isFlagged: false,
    });
  });

  it('takes what a caller without types answers at once', async () => {
    const source = sourceOf(await smallBundle({ network: randomNetwork({ inputs: dimensions }) }));
    Reflect.set(source, 'judge', () => ({ label: 'rumor', probabilities: null }));
    const policy = await loadPolicy(source);
    expect((await policy.decide(thread(texts))).prediction).toEqual({ label: 'rumor', probabilities: {} });
  });

  it('asks the detector in it about the posts that were seen', async () => {
    const network = randomNetwork({ inputs: dimensions });
    network.layers.b3.set([0, -50]);
    const files = { [bundleFiles.detector]: JSON.stringify(replyModel) };
    const bundle = await smallBundle({ network, files, manifest: { detector: bundleFiles.detector } });
    const { prediction, queries } = await (await loadPolicy(sourceOf(bundle))).decide(thread(texts));
    // One word of the replies is known.
    const probability = 1 / (1 + Math.exp(-1));
    expect(prediction?.label).toBe('rumor');
    expect(prediction?.probabilities.rumor).toBeCloseTo(probability, 12);
    expect(queries).toBe(1);
  });

  it('reads times where its detector was trained with them, and counts missing ones as usual', async () => {
    const network = randomNetwork({ inputs: dimensions });
    network.layers.b3.set([0, -50]);
    const files = { [bundleFiles.detector]: JSON.stringify(timedModel) };
    const bundle = await smallBundle({ network, files, manifest: { detector: bundleFiles.detector } });
    const policy = await loadPolicy(sourceOf(bundle));
    const posts = ['2024-01-01T10:00:00Z', '2024-01-01T11:01:00+01:00', null, undefined, '2024-01-01T10:19:00Z'].map(
      (time, index) => ({ text: `new ${index}`, time }),
    );
    const logOdds = async (given: (string | PolicyPost)[]) => {
      const { rumor = 0, 'non-rumor': plain = 0 } =
        (await policy.decide({ posts: given })).prediction?.probabilities ?? {};
      return Math.log(rumor / plain);
    };
    const replies = (Math.log1p(4) - 2) * 0.5;
    expect(await logOdds(posts)).toBeCloseTo(-1 + replies + Math.log(4 / 20) / 2 - (Math.log1p(1) - 1), 6);
    expect(await logOdds(posts.map(({ text }) => text))).toBeCloseTo(-1 + replies, 6);
    expect(await logOdds(posts.slice(0, 1))).toBeCloseTo(-1, 6);
    await expect(policy.decide({ posts: [{ text: 'a', time: 'noon' }] })).rejects.toThrow(
      '"noon" is no time; write ISO 8601, such as 2014-08-09T22:33:06Z, or leave it out',
    );
  });

  it('loads from an address', async () => {
    const folder = await smallBundle();
    const server = createServer((request, response) => {
      const name = request.url?.replace('/policy/', '') ?? '';
      response.end(readFileSync(join(folder, name)));
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    for (const address of ['policy/', 'policy', 'policy?v=2']) {
      const policy = await loadPolicy(`http://127.0.0.1:${port}/${address}`);
      expect(policy.manifest.task.name).toBe('rumor');
    }
    await expect(loadPolicy('http://127.0.0.1:9/policy')).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:9\/policy\/manifest\.json cannot be fetched: TypeError: /,
    );
  });

  it('says what is wrong with what a caller without types gives', async () => {
    const policy = await loadPolicy(sourceOf(await smallBundle()));
    const decide = (given: unknown) => policy.decide(given as Parameters<typeof policy.decide>[0]);
    for (const given of [undefined, null, {}, [], { posts: 'a claim' }])
      await expect(decide(given)).rejects.toThrow('posts must be a list: [{ text }, …]');
    await expect(decide({ posts: ['a claim', null] })).rejects.toThrow('a post must have a text; found null');
    await expect(decide({ posts: [{ text: 1 }] })).rejects.toThrow('a post must have a text; found {"text":1}');
    await expect(policy.open().read(null as unknown as string)).rejects.toThrow('a post must have a text; found null');
    await expect(loadPolicy('policy')).rejects.toThrow('policy is no address; give one, or { read }');
    for (const time of [new Date(), 1704103200, '1704103200', '2024-01-01 10:00Z', ''])
      await expect(decide({ posts: [{ text: 'a', time }] })).rejects.toThrow(/ is no time; write ISO 8601/);
    for (const time of ['2025-01-01T00:00:00', '2024-01-01 10:00', '2024-01-01'])
      await expect(decide({ posts: [{ text: 'a', time }] })).rejects.toThrow(
        `"${time}" names no time zone: write Z behind it for UTC, or an offset such as +02:00`,
      );
    await expect(decide({ posts: [{ text: 'a', time: '2023-02-29T00:00:00Z' }] })).rejects.toThrow(
      'is on a day that its month does not have',
    );
    expect(await decide({ posts: [{ text: 'a', time: '1970-01-01T00:00:00Z' }] })).toMatchObject({ postsUsed: 1 });
    const { read } = sourceOf(await smallBundle());
    const buffers = { read: async (name: string) => new Uint8Array(await read(name)).buffer };
    expect((await loadPolicy(buffers)).manifest.task.name).toBe('rumor');
    const texts: unknown = { read: async (name: string) => new TextDecoder().decode(await read(name)) };
    await expect(loadPolicy(texts as typeof buffers)).rejects.toThrow(
      'read gave a string for manifest.json, not bytes',
    );
  });

  it('takes an encoder that is not part of the bundle, and says so when it gets none', async () => {
    const network = randomNetwork({ inputs: dimensions });
    const foreign = { encoder: { name: 'transformers', files: {} }, readsTexts: false };
    const folder = await smallBundle({ network, manifest: foreign, golden: [] });
    const bare = await loadPolicy(sourceOf(folder));
    await expect(bare.decide(thread(texts))).rejects.toThrow('its encoder is not at hand; give `embed`');
    expect(bare.definition.score(new Float32Array(2 * dimensions))).toHaveLength(2);
    const embed = async (own: readonly string[]) => new Float32Array(own.length * dimensions).fill(0.5);
    const given = await loadPolicy({ ...sourceOf(folder), embed });
    expect((await given.decide(thread(texts))).scores.length).toBeGreaterThan(0);
  });
});

describe('a bundle that is not what was exported', () => {
  it('is refused by the name of the file that was changed', async () => {
    const names = [bundleFiles.manifest, bundleFiles.weights, bundleFiles.golden];
    for (const name of names) {
      const folder = await smallBundle();
      const bytes = readFileSync(join(folder, name));
      bytes[bytes.length - 10] ^= 1;
      writeFileSync(join(folder, name), bytes);
      await expect(loadPolicy(sourceOf(folder)), name).rejects.toThrow(`${name} was changed after the export`);
    }
  });

  it('is refused where the golden threads are decided differently', async () => {
    const network = randomNetwork({ inputs: dimensions });
    const golden = goldenOf(network, { id: 'g1', texts });
    const other = goldenOf(randomNetwork({ inputs: dimensions, seed: 2 }), { id: 'g2', texts });
    const load = async (of: (typeof golden)[]) => loadPolicy(sourceOf(await smallBundle({ network, golden: of })));
    await expect(load([golden])).resolves.toBeDefined();
    await expect(load([golden, other])).rejects.toThrow(
      /the golden thread g2 is decided differently here: the score at post/,
    );
    // The right states, but of another text.
    await expect(load([{ ...golden, texts: [...texts.slice(0, 4), 'other'] }])).rejects.toThrow(
      /g1 is decided differently here: the score at post 5/,
    );
    await expect(load([{ ...golden, postsUsed: golden.postsUsed + 1 }])).rejects.toThrow(/g1 is .*: at post \d/);
  });

  it('is refused when it is something else', async () => {
    const folder = await smallBundle();
    writeFileSync(join(folder, bundleFiles.manifest), '{}');
    await expect(loadPolicy(sourceOf(folder))).rejects.toThrow('manifest.json is not the manifest of a policy');
    const later = await smallBundle({ manifest: JSON.parse('{ "formatVersion": 99 }'), golden: [] });
    await expect(loadPolicy(sourceOf(later))).rejects.toThrow(
      'the bundle was made by Earshot 0.0.0 in format 99, and this version reads format 5; export the run again',
    );
    rmSync(join(folder, bundleFiles.manifest));
    await expect(loadPolicy(sourceOf(folder))).rejects.toThrow(/ENOENT.*manifest\.json/);
    const wide = await smallBundle({ network: randomNetwork({ inputs: dimensions + 1 }), golden: [] });
    await expect(loadPolicy(sourceOf(wide))).rejects.toThrow('policy.safetensors and the manifest disagree');
    expect(textOf(folder, bundleFiles.golden)).toContain('unicode:chinese');
  });
});

describe('earshot/policy', () => {
  it('is under 60 kB and needs nothing of Node', async () => {
    const { outputFiles, metafile } = await build({
      entryPoints: [join(import.meta.dirname, '../../../checkpoints/policy/load-policy.ts')],
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      metafile: true,
      logLevel: 'silent',
    });
    expect(outputFiles[0].contents.length).toBeLessThan(60_000);
    const packages = Object.keys(metafile.inputs).flatMap((path) => /node_modules\/([^/]+)/.exec(path)?.[1] ?? []);
    expect([...new Set(packages)]).toEqual(['zod']);
  });
});
