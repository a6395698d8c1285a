import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { encoderSchema } from '../../../src/text/create-encoder.ts';
import { storedEncoders } from '../../../src/text/stored-encoders.ts';
import { tinyModelFiles, writeModel } from './tiny-model.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'earshot-encoders-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('encodes a text once, whoever reads it, also in a later process', async () => {
  const model = await writeModel(join(root, 'tiny'), tinyModelFiles());
  const config = encoderSchema.parse({ name: 'transformers', model });
  const directory = join(root, 'embeddings');
  const encoders = storedEncoders({ directory });
  const [first, second] = [await encoders(config), await encoders({ ...config })];
  expect(second).toBe(first);
  const vectors = await first.encode(['stop', 'continue']);
  expect([...(await second.encode(['continue', 'stop']))]).toEqual([...vectors.slice(3), ...vectors.slice(0, 3)]);
  const later = await storedEncoders({ directory })(config);
  expect([...(await later.encode(['stop', 'stop now']))].slice(0, 3)).toEqual([...vectors.slice(0, 3)]);
  expect(storedTexts(directory)).toBe(3);
});

it('keeps no hashed vectors', async () => {
  const directory = join(root, 'embeddings');
  const encoder = await storedEncoders({ directory })(encoderSchema.parse({ name: 'hashing', dimensions: 16 }));
  expect(await encoder.encode(['stop'])).toHaveLength(16);
  expect(existsSync(directory)).toBe(false);
});

function storedTexts(directory: string): number {
  const [file] = readdirSync(directory).filter((name) => name.endsWith('.sqlite'));
  const database = new Database(join(directory, file));
  const { count } = z
    .object({ count: z.number() })
    .parse(database.prepare('SELECT count(*) AS count FROM embedding').get());
  database.close();
  return count;
}
