import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { EmbeddingStore } from '../../../src/text/embedding-store.ts';
import type { Encoder } from '../../../src/text/encoder.ts';
import { createHashingEncoder } from '../../../src/text/hashing-encoder.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'earshot-embeddings-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

/** Embeds a text as [its length, its first character's code], and remembers what it was asked. */
function countingEncoder(options: { name?: string } = {}): Encoder & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    dimensions: 2,
    identity: { name: options.name ?? 'counting' },
    async encode(texts) {
      asked.push(...texts);
      return Float32Array.from(texts.flatMap((text) => [text.length, text.charCodeAt(0) || 0]));
    },
  };
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);

async function onlyFile(): Promise<string> {
  const [file, ...others] = (await readdir(directory)).filter((name) => name.endsWith('.sqlite'));
  expect(others).toEqual([]);
  return join(directory, file);
}

function runProcess(options: { prefix: string; count: number; fileKib?: number }): Promise<{ stdout: string }> {
  const script = join(inject('compiledProgram'), 'tests/src/text/append-embeddings.js');
  const command = [process.execPath, script, directory, options.prefix, String(options.count)];
  // Without the signal a write over the limit fails as on a full disk.
  const limited = ['bash', '-c', `trap '' XFSZ; ulimit -f ${options.fileKib}; exec "$0" "$@"`, ...command];
  const [file, ...args] = options.fileKib === undefined ? command : limited;
  return promisify(execFile)(file, args);
}

describe('EmbeddingStore', () => {
  it('encodes each text once and keeps the order asked for', async () => {
    const encoder = countingEncoder();
    const store = await EmbeddingStore.open({ encoder, directory });
    expect([...(await store.embed(['bb', 'a', 'bb', '']))]).toEqual([2, 98, 1, 97, 2, 98, 0, 0]);
    expect([...(await store.embed(['', 'ccc', 'a']))]).toEqual([0, 0, 3, 99, 1, 97]);
    expect(encoder.asked).toEqual(['bb', 'a', '', 'ccc']);
    expect(await store.embed([])).toHaveLength(0);
  });

  it('gives back from disk what was encoded, in any order', async () => {
    const texts = numbered(1500);
    const encoder = createHashingEncoder({ dimensions: 16 });
    const first = await EmbeddingStore.open({ directory, encoder });
    await first.embed(texts.slice(0, 700));
    await first.embed(texts);
    const idle: Encoder = { ...encoder, encode: () => Promise.reject(new Error('nothing should be encoded')) };
    const second = await EmbeddingStore.open({ directory, encoder: idle });
    expect(await second.embed(texts)).toEqual(await encoder.encode(texts));
    const some = [texts[1499], texts[3], texts[700], texts[3]];
    expect(await second.embed(some)).toEqual(await encoder.encode(some));
  });

  it('keeps encoders apart and names them by their identity, whatever the order of its options', async () => {
    const one = await EmbeddingStore.open({ directory, encoder: { ...countingEncoder(), identity: { a: 1, b: 2 } } });
    const same = await EmbeddingStore.open({ directory, encoder: { ...countingEncoder(), identity: { b: 2, a: 1 } } });
    const other = countingEncoder({ name: 'other' });
    await one.embed(['x']);
    expect(same.identityHash).toBe(one.identityHash);
    await (await EmbeddingStore.open({ directory, encoder: other })).embed(['x']);
    expect(other.asked).toEqual(['x']);
  });

  it('encodes once what two calls at the same time ask for', async () => {
    const encoder = countingEncoder();
    const store = await EmbeddingStore.open({ directory, encoder });
    await Promise.all([store.embed(['a', 'b']), store.embed(['b', 'c'])]);
    expect(encoder.asked).toEqual(['a', 'b', 'c']);
  });

  it('reports progress over the texts that are missing', async () => {
    const store = await EmbeddingStore.open({ directory, encoder: countingEncoder() });
    await store.embed(numbered(10));
    const seen: { done: number; total: number }[] = [];
    await store.embed(numbered(1010), { onProgress: (progress) => seen.push(progress) });
    expect(seen).toEqual([
      { done: 512, total: 1000 },
      { done: 1000, total: 1000 },
    ]);
  });

  it('leaves one whole file, which names what is wrong once it is damaged', async () => {
    await (await EmbeddingStore.open({ directory, encoder: countingEncoder() })).embed(numbered(20));
    const path = await onlyFile();
    await truncate(path, 3000);
    await expect(
      (async () => (await EmbeddingStore.open({ directory, encoder: countingEncoder() })).embed(numbered(20)))(),
    ).rejects.toThrow(
      /embedding store .*sqlite.* is damaged or not an SQLite file; .*delete it, and its texts are encoded/,
    );
    await rm(path);
    const encoder = countingEncoder();
    await (await EmbeddingStore.open({ directory, encoder })).embed(numbered(20));
    expect(encoder.asked).toHaveLength(20);
  });

  it('lets processes write at once', async () => {
    await Promise.all([runProcess({ prefix: 'left', count: 2000 }), runProcess({ prefix: 'right', count: 2000 })]);
    const encoder = createHashingEncoder({ dimensions: 64 });
    const idle: Encoder = { ...encoder, encode: () => Promise.reject(new Error('nothing should be encoded')) };
    const store = await EmbeddingStore.open({ directory, encoder: idle });
    const texts = ['left', 'right'].flatMap((prefix) =>
      Array.from({ length: 2000 }, (_, index) => `${prefix} ${index}`),
    );
    expect(await store.embed(texts)).toEqual(await encoder.encode(texts));
  });

  it.skipIf(process.platform === 'win32')(
    'stops with the folder and what to do when no more can be written, and keeps what it had',
    async () => {
      const { stdout } = await runProcess({ prefix: 'many', count: 2000, fileKib: 300 });
      expect(stdout).toMatch(/InputError: the embedding store .*sqlite: .*(?:disk|space)/);
      const encoder = createHashingEncoder({ dimensions: 64 });
      const store = await EmbeddingStore.open({ directory, encoder });
      const texts = Array.from({ length: 2000 }, (_, index) => `many ${index}`);
      let missing = 0;
      const vectors = await store.embed(texts, { onProgress: ({ total }) => (missing = total) });
      expect(vectors).toEqual(await encoder.encode(texts));
      // Whole chunks were saved before.
      expect(2000 - missing).toBeGreaterThan(0);
      expect((2000 - missing) % 512).toBe(0);
    },
  );

  it('refuses a place that is no directory, a foreign file and broken vectors', async () => {
    const file = join(directory, 'file');
    await writeFile(file, '');
    await expect(EmbeddingStore.open({ directory: file, encoder: countingEncoder() })).rejects.toThrow(
      /cannot make the folder .*file/,
    );
    await rm(file);
    await EmbeddingStore.open({ directory, encoder: countingEncoder() });
    await writeFile(await onlyFile(), 'no database');
    await expect(EmbeddingStore.open({ directory, encoder: countingEncoder() })).rejects.toThrow(
      /embedding store .* is damaged or not an SQLite file/,
    );
    const broken: Encoder = { ...countingEncoder(), encode: async () => Float32Array.of(1, Number.NaN) };
    await expect(
      (await EmbeddingStore.open({ directory: join(directory, 'broken'), encoder: broken })).embed(['x']),
    ).rejects.toThrow(/returned NaN for the text "x"/);
    const short: Encoder = { ...countingEncoder(), encode: async () => Float32Array.of(1) };
    await expect(
      (await EmbeddingStore.open({ directory: join(directory, 'short'), encoder: short })).embed(['x']),
    ).rejects.toThrow(/returned 1 numbers for 1 texts of 2 dimensions/);
  });
});
