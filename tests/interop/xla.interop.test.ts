import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { temporaryFolder } from '../src/data/fixtures.ts';

/*
 * The xla backend on the plugin for the processor, which `earshot backend install xla` puts into a cache folder. It computes what a
 * GPU's plugin would; none was at hand.
 */

const project = join(import.meta.dirname, '../..');
const cache = process.env.EARSHOT_INTEROP_CACHE ?? join(homedir(), '.cache/earshot/interop');
const xlaFolder = join(cache, 'xla');

async function node(words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> {
  const env = { ...process.env, EARSHOT_XLA: xlaFolder, NO_COLOR: '1', ...more };
  const done = promisify(execFile)(process.execPath, words, { cwd: project, env, maxBuffer: 1e8 });
  const { stdout } = await done.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`node ${words.join(' ')} failed:\n${error.stdout.slice(-3000)}\n${error.stderr.slice(-3000)}`);
  });
  return stdout;
}

const earshot = (...words: string[]) => node(['experiments/cli/earshot.mjs', ...words]);
const script = (name: string, ...words: string[]) =>
  node(['--expose-gc', '--import', 'tsx', join(import.meta.dirname, name), ...words]);

const installedSchema = z.object({
  plugin: z.string(),
  device: z.string(),
  difference: z.object({ weights: z.number() }),
});
let installed: z.infer<typeof installedSchema>;
beforeAll(async () => {
  installed = installedSchema.parse(
    JSON.parse(await earshot('backend', 'install', 'xla', '--device', 'cpu', '--json')),
  );
});

describe('earshot backend install xla', () => {
  it('downloads a plugin that trains as wasm does', () => {
    expect(installed.device).toMatch(/^the processor by XLA/);
    expect(installed.difference.weights).toBeLessThan(1e-6);
  });

  it('takes a plugin that is there, and says what a file is that is none', async () => {
    const again = installedSchema.parse(
      JSON.parse(await earshot('backend', 'install', 'xla', '--plugin', installed.plugin, '--json')),
    );
    expect(again.plugin).toBe(installed.plugin);
    await expect(earshot('backend', 'install', 'xla', '--plugin', 'package.json')).rejects.toThrow(
      /package\.json was not built for this machine/,
    );
  });

  it('is not what auto takes on the processor, and is described and timed by doctor', async () => {
    const report = JSON.parse(await earshot('doctor', 'xla', 'onnx', '--dimensions', '8', '--json'));
    expect(report).toMatchObject({
      chosen: {
        name: expect.not.stringMatching('xla'),
        skipped: [expect.stringContaining('onnx is faster'), expect.anything()],
      },
      xla: { plugin: installed.plugin, platform: 'cpu', apiVersion: expect.stringMatching(/^0\.\d+$/) },
      backends: [
        { backend: 'xla', problem: null },
        { backend: 'onnx', problem: null },
      ],
    });
  });
});

it('computes every kernel as cpu does, for one run and for three at once', async () => {
  const differences = z
    .record(z.string(), z.object({ alone: z.number(), together: z.number() }))
    .parse(JSON.parse(await script('xla-kernels.ts')));
  for (const [name, { alone, together }] of Object.entries(differences)) {
    expect(alone, name).toBeLessThan(1e-4);
    expect(together, name).toBeLessThan(1e-4);
  }
});

it('survives what goes wrong between Node and a plugin, and ends', async () => {
  expect(JSON.parse(await script('xla-traps.ts', installed.plugin))).toEqual({
    moved: true,
    second: 1,
    freedEarly: [10, 12],
    stays: [1, 2],
    replaced: [2, 4],
    kept: [2, 4],
    isGone: expect.stringMatching(/deleted or donated/),
    nonsense: expect.stringMatching(/unknown|error/),
    long: 1,
    loaded: 1,
    damaged: expect.not.stringMatching(/^none$/),
  });
});

const training = z.object({
  alone: z.number(),
  resumed: z.number(),
  together: z.number(),
  resumedTogether: z.array(z.number()),
  troubled: z.array(z.number()),
  runs: z.number(),
  largestIn: z.number(),
  tableBytes: z.number(),
});

it.each([
  ['imitation', {}, 4, 3],
  ['imitation, of many', {}, 32, 3],
  ['imitation with a discriminator for each expert', { imitation: { objective: 'separate' } }, 4, 5],
  ['behaviour cloning', { algorithm: 'behavior-cloning' }, 4, 1],
  ['the exact policy gradient', { algorithm: 'exact-policy-gradient' }, 4, 1],
  ['the settled agent', { algorithm: 'settled' }, 4, 1],
  ['deep Q-learning', { algorithm: 'dqn' }, 4, 2],
])(
  'trains as wasm does, alone and together, resumes, and keeps troubles to their runs: %s',
  async (_, options, count, runs) => {
    const trained = training.parse(JSON.parse(await script('xla-training.ts', JSON.stringify(options), String(count))));
    expect(trained.alone).toBeLessThan(1e-5);
    expect(trained.together).toBeLessThan(1e-5);
    // To the same bytes.
    expect(trained.resumed).toBe(0);
    expect(trained.resumedTogether).toEqual([]);
    // The one that failed and the one that became no number; all others end with the bytes that they have without them.
    expect(trained.troubled).toEqual([2, 3]);
    expect(trained.runs).toBe(runs);
    expect(trained.largestIn).toBeLessThan(trained.tableBytes / 2);
  },
);

const experiment = `kind: sweep
name: small
experiment:
  backend: xla
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

it('trains a sweep to the same bytes after it was killed, and compiles nothing twice', async () => {
  const cwd = temporaryFolder({ 'small.yaml': experiment });
  const words = (runs: string) => [
    join(project, 'experiments/cli/earshot.mjs'),
    ...['sweep', join(cwd, 'small.yaml'), '--runs', join(cwd, runs), '--jobs', '1', '--no-html'],
  ];
  const linesIn = (runs: string, file: string) => {
    const folder = join(cwd, runs, 'small');
    const settings = existsSync(folder) ? readdirSync(folder).sort() : [];
    const files = settings.map((name) => join(folder, name, 'seed-1', file)).filter((path) => existsSync(path));
    return files.map((path) => readFileSync(path, 'utf8'));
  };
  const programs = () => {
    const folder = join(xlaFolder, 'programs');
    return readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mtimeMs]);
  };
  await node(words('whole'));
  const compiled = programs();
  const stopped = spawn(process.execPath, words('stopped'), {
    env: { ...process.env, EARSHOT_XLA: xlaFolder },
    stdio: 'ignore',
  });
  const ended = once(stopped, 'exit');
  const reached = () => linesIn('stopped', 'metrics.jsonl').some((text) => text.split('\n').length > 3);
  await vi.waitUntil(reached, { interval: 50, timeout: 120_000 });
  stopped.kill('SIGKILL');
  await ended;
  expect(linesIn('stopped', 'result.json')).toEqual([]);
  await node(words('stopped'));
  expect(linesIn('stopped', 'decisions.jsonl')).toHaveLength(2);
  expect(linesIn('stopped', 'decisions.jsonl')).toEqual(linesIn('whole', 'decisions.jsonl'));
  // A kill may leave one trial a checkpoint ahead. It then ends first, and the other goes on alone, by programs of one run.
  expect(programs()).toEqual(expect.arrayContaining(compiled));
});

it('shares the trials of a sweep between processes, each of which trains its own together', async () => {
  const cwd = temporaryFolder({
    // The data of two seeds are tables of other lengths.
    'two.yaml': experiment.replace('seeds: [1]', 'seeds: [1, 2]').replace('[0.4, 0.6]', '[0.4]'),
    'four.yaml': experiment.replace('seeds: [1]', 'seeds: [1, 2]'),
    // Without programs.
    'xla/plugin.json': JSON.stringify({ plugin: installed.plugin, device: 'cpu' }),
  });
  const env = { EARSHOT_XLA: join(cwd, 'xla') };
  const sweep = (name: string, jobs: string) => {
    const words = ['sweep', join(cwd, `${name}.yaml`), '--runs', join(cwd, name), '--jobs', jobs, '--no-html'];
    return node([join(project, 'experiments/cli/earshot.mjs'), ...words], env);
  };
  await sweep('two', '1');
  const ofTwo = readdirSync(join(cwd, 'xla/programs'));
  // Cloning, the discriminator's updates, the policy's, and the rollout.
  expect(ofTwo).toHaveLength(4);
  expect(await sweep('four', '2')).toContain('4 trials: 4 finished');
  // Trials alone would have programs of their own.
  expect(readdirSync(join(cwd, 'xla/programs'))).toEqual(ofTwo);
});
