import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { testedWebgpu } from '../../src/tensor/webgpu.ts';

/*
 * The webgpu backend on SwiftShader, the Vulkan driver for processors in Debian's chromium. It computes as a GPU would and is
 * slow, so the agent is small.
 */

const project = join(import.meta.dirname, '../..');
const cache = process.env.EARSHOT_INTEROP_CACHE ?? join(homedir(), '.cache/earshot/interop');
const folder = join(cache, `webgpu-${Object.values(testedWebgpu).join('-')}`);
const driver = '/usr/lib/chromium/vk_swiftshader_icd.json';

async function succeed(program: string, words: readonly string[]): Promise<string> {
  const env = {
    ...process.env,
    EARSHOT_WEBGPU: folder,
    EARSHOT_TENSORFLOW: join(folder, 'none'),
    VK_ICD_FILENAMES: process.env.VK_ICD_FILENAMES ?? driver,
  };
  return (await promisify(execFile)(program, words, { cwd: project, env, maxBuffer: 1e8 })).stdout;
}

/** Both packages in the cache folder, the backend on the tfjs of this checkout: there must be one tfjs in a process. */
async function install(): Promise<void> {
  const ready = join(folder, 'ready');
  const core = join(folder, 'node_modules/@tensorflow/tfjs-core');
  if (!existsSync(ready)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private": true}\n');
    const packages = Object.entries(testedWebgpu).map(([name, version]) => `${name}@${version}`);
    await succeed('npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', ...packages]);
    writeFileSync(ready, '');
  }
  // Anew each time, for the checkout that made the cache may be gone.
  rmSync(core, { recursive: true, force: true });
  mkdirSync(dirname(core), { recursive: true });
  symlinkSync(join(project, 'node_modules/@tensorflow/tfjs-core'), core);
}

beforeAll(async () => {
  const hasDriver = existsSync(process.env.VK_ICD_FILENAMES ?? driver);
  const hasLoader = spawnSync('ldconfig', ['-p'], { encoding: 'utf8' }).stdout?.includes('libvulkan.so.1');
  if (!(hasDriver && hasLoader) && process.getuid?.() === 0 && process.env.VK_ICD_FILENAMES === undefined) {
    await succeed('apt-get', ['update']);
    await succeed('apt-get', ['install', '--yes', '--no-install-recommends', 'chromium', 'libvulkan1']);
  }
  await install();
});

/** Runs TypeScript of this project in a process of its own: Dawn lives as long as its process. */
async function printed(script: string): Promise<unknown> {
  const file = join(folder, 'script.mts');
  writeFileSync(file, `${script}\nprocess.exit(0);\n`);
  return JSON.parse(await succeed(process.execPath, ['--import', 'tsx', file]));
}

const backendFile = JSON.stringify(join(project, 'src/tensor/backend.ts'));
const compareFile = JSON.stringify(join(project, 'experiments/run/compare-backends.ts'));

describe('the webgpu backend', () => {
  it('is not what auto takes on a processor, and says why', async () => {
    const choice = await printed(
      `import { selectBackend } from ${backendFile};\nconsole.log(JSON.stringify(await selectBackend('auto')));`,
    );
    expect(choice).toMatchObject({
      name: 'onnx',
      skipped: [
        expect.any(String),
        expect.stringMatching(/webgpu: the only adapter \(SwiftShader.*computes on the processor/),
      ],
    });
  });

  it.each(['sampled', 'exact'])('trains as wasm does: %s', async (rollout) => {
    const difference = await printed(
      `import { compareBackends } from ${compareFile};
console.log(JSON.stringify(await compareBackends(['wasm', 'webgpu'], { dimensions: 16, iterations: 2, imitation: { rollout: ${JSON.stringify(rollout)} } })));`,
    );
    expect(z.object({ weights: z.number() }).parse(difference).weights).toBeLessThan(1e-5);
  });
});
