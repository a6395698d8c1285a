import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, expect, it, vi } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { backendNames } from '../../../src/tensor/backend-names.ts';
import { nodeProblem, tensorflowPackage } from '../../../src/tensor/tensorflow.ts';
import { temporaryFolder } from '../data/fixtures.ts';

beforeEach(() => {
  // A test before may have started one that works.
  if (tf.findBackendFactory('tensorflow') !== null) tf.removeBackend('tensorflow');
});

/** Why the tensorflow backend cannot be used when this stands in its folder. */
async function problem(files: Record<string, string>): Promise<string> {
  vi.stubEnv('EARSHOT_TENSORFLOW', temporaryFolder(files));
  try {
    return await selectBackend('tensorflow').then(
      () => 'none',
      (error: Error) => error.message,
    );
  } finally {
    vi.unstubAllEnvs();
  }
}

const found = tensorflowPackage();
const version = found?.version ?? '';
/** Where install scripts run, npm has downloaded one. */
const isDownloaded = found !== null && existsSync(join(found.folder, 'lib'));

/** Of the versions that Earshot runs on, those that the package does. */
const isOldNode = nodeProblem('tfjs', process.versions.node) === null;

it('names the versions of Node that the package runs on', () => {
  expect([nodeProblem('tfjs', '20.20.2'), nodeProblem('tfjs', '22.1.0')]).toEqual([null, null]);
  expect(nodeProblem('tfjs', '24.21.0')).toBe('tfjs runs on Node 20 and 22, and this is Node 24.21.0');
});

it('comes before all but a plugin that somebody installed', () => {
  expect(backendNames.slice(0, 2)).toEqual(['xla', 'tensorflow']);
});

it.skipIf(isDownloaded || !isOldNode)('says how to get the native library where there is none', async () => {
  expect(await problem({})).toMatch(/no native library; build one with `earshot backend install`/);
});

it.skipIf(!isOldNode).each<[string, unknown, RegExp]>([
  ['is damaged', '{', /addon\.json is damaged; build it again/],
  [
    'is of another package',
    { addon: '/a.node', packageVersion: '1.0.0', library: '/tensorflow' },
    /a\.node was built from @tensorflow\/tfjs-node-gpu 1\.0\.0, and 4\.22\.0 is installed; build it again/,
  ],
  [
    'has lost its library',
    { addon: '/nowhere/a.node', packageVersion: version, library: '/moved/tensorflow' },
    /the addon cannot be loaded \(.*a\.node.*\); its TensorFlow was in \/moved\/tensorflow; build it again with `earshot backend install`/,
  ],
])('says so where the addon %s', async (_, record, message) => {
  const content = typeof record === 'string' ? record : JSON.stringify(record);
  expect(await problem({ 'addon.json': content })).toMatch(message);
});
