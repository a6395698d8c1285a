import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { temporaryFolder } from '../src/data/fixtures.ts';

/*
 * The webgpu backend on SwiftShader, the Vulkan driver for processors in Debian's chromium. It computes as a GPU would and is
 * slow, so the agents are small.
 */

const project = join(import.meta.dirname, '../..');
const driver = process.env.VK_ICD_FILENAMES ?? '/usr/lib/chromium/vk_swiftshader_icd.json';

async function succeed(program: string, words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> {
  const env = { ...process.env, VK_ICD_FILENAMES: driver, XDG_RUNTIME_DIR: '/tmp', ...more };
  return (await promisify(execFile)(program, words, { cwd: project, env, maxBuffer: 1e8 })).stdout;
}

beforeAll(async () => {
  const hasLoader = spawnSync('ldconfig', ['-p'], { encoding: 'utf8' }).stdout?.includes('libvulkan.so.1');
  if (!(existsSync(driver) && hasLoader) && process.getuid?.() === 0 && process.env.VK_ICD_FILENAMES === undefined) {
    await succeed('apt-get', ['update']);
    await succeed('apt-get', ['install', '--yes', '--no-install-recommends', 'chromium', 'libvulkan1']);
  }
});

/** Runs TypeScript of this project in a process of its own. */
async function printed(script: string, more: NodeJS.ProcessEnv = {}): Promise<unknown> {
  return JSON.parse(
    await succeed(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', `${script}\nprocess.exit(0);`],
      more,
    ),
  );
}

const trainings = z.array(
  z.object({
    runs: z.number(),
    difference: z.number(),
    tableBytes: z.number(),
    largestIn: z.number(),
  }),
);
/** Two settings, and a cloning baseline for each. */
const sweep = `kind: sweep
name: small
experiment:
  backend: webgpu
  data: { synthetic: { threads: 120, seed: 1 } }
  split: { detector: 30, demonstrations: 20, environment: 30, development: 20, test: 20 }
  encoder: { name: hashing, dimensions: 16 }
  agent:
    iterations: 12
    hidden: 8
    imitation:
      ppo: { stepsPerIteration: 24, epochs: 1, minibatches: 1 }
      discriminator: { batchSize: 24, epochs: 1, warmupIterations: 0 }
seeds: [1]
space: { agent.imitation.alpha: [0.4, 0.6] }
`;

const backendFile = JSON.stringify(join(project, 'src/tensor/backend.ts'));

describe('the webgpu backend', () => {
  it('is not what auto takes', async () => {
    const choice = await printed(
      `import { selectBackend } from ${backendFile};\nconsole.log(JSON.stringify(await selectBackend('auto')));`,
      { EARSHOT_TENSORFLOW: '/nowhere' },
    );
    expect(choice).toMatchObject({ name: 'onnx', skipped: [expect.any(String)] });
  });

  it('says what a machine without an adapter lacks, and leaves onnx as it was', async () => {
    const said = await printed(
      `import { selectBackend } from ${backendFile};
const failure = await selectBackend('webgpu').catch(({ message }) => message);
const { name } = await selectBackend('onnx');
console.log(JSON.stringify({ failure, name }));`,
      { VK_ICD_FILENAMES: '/nowhere.json' },
    );
    expect(said).toEqual({
      failure: expect.stringMatching(
        /^no tensor backend could be used: webgpu: no adapter could be used \(.*name no file that exists/,
      ),
      name: 'onnx',
    });
  });

  it.each([
    ['imitation', {}, 3],
    ['behaviour cloning', { algorithm: 'behavior-cloning' }, 1],
    ['the exact policy gradient', { algorithm: 'exact-policy-gradient' }, 1],
    ['the settled agent', { algorithm: 'settled' }, 1],
    ['deep Q-learning', { algorithm: 'dqn' }, 2],
  ])(
    'trains as wasm does, resumes, leaves the state table on the device, and runs few graphs: %s',
    async (_, options, runs) => {
      const words = ['--import', 'tsx', join(import.meta.dirname, 'webgpu-training.ts'), JSON.stringify([options])];
      const [trained] = trainings.parse(JSON.parse(await succeed(process.execPath, words)));
      expect(trained.runs).toBe(runs);
      expect(trained.difference).toBeLessThan(1e-5);
      expect(trained.largestIn).toBeLessThan(trained.tableBytes / 2);
    },
  );

  it('is timed beside the processor by doctor, which finds no node that falls back', async () => {
    const words = ['experiments/cli/earshot.mjs', 'doctor', 'gpu', '--json', '--dimensions', '8'];
    expect(JSON.parse(await succeed(process.execPath, words))).toMatchObject({
      adapter: { isHardware: false, drivers: [expect.stringContaining('swiftshader')] },
      placements: { nodes: expect.any(Number), onProcessor: {} },
      widths: [{ gpu: { problem: null }, processor: { problem: null } }],
    });
  });

  it('trains a sweep, and to the same bytes after it was stopped', async () => {
    const cwd = temporaryFolder({ 'small.yaml': sweep });
    const words = (runs: string) => [
      join(project, 'experiments/cli/earshot.mjs'),
      ...['sweep', join(cwd, 'small.yaml'), '--runs', join(cwd, runs)],
      ...['--jobs', '1', '--no-html'],
    ];
    const linesIn = (runs: string, file: string) => {
      const folder = join(cwd, runs, 'small/trials');
      const trials = existsSync(folder) ? readdirSync(folder).sort() : [];
      const files = trials.map((trial) => join(folder, trial, file)).filter((path) => existsSync(path));
      return files.map((path) => readFileSync(path, 'utf8'));
    };
    await succeed(process.execPath, words('whole'));
    const env = { ...process.env, VK_ICD_FILENAMES: driver, XDG_RUNTIME_DIR: '/tmp' };
    const stopped = spawn(process.execPath, words('stopped'), { env, stdio: 'ignore' });
    const ended = once(stopped, 'exit');
    const reached = () => linesIn('stopped', 'metrics.jsonl').some((text) => text.split('\n').length > 3);
    await vi.waitUntil(reached, { interval: 50, timeout: 120_000 });
    stopped.kill('SIGTERM');
    expect(await ended).toEqual([130, null]);
    expect(linesIn('stopped', 'result.json')).toEqual([]);
    await succeed(process.execPath, words('stopped'));
    const decided = linesIn('stopped', 'decisions.jsonl');
    expect(decided).toHaveLength(2);
    expect(decided[0]).toContain('behaviour cloning');
    expect(decided).toEqual(linesIn('whole', 'decisions.jsonl'));
  });
});
