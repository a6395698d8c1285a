import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { TrialOutcome } from '../../../experiments/run/trial.ts';
import { fromProcessSchema } from '../../../experiments/run/trial-process.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { tiny } from './command-line.ts';

/*
 * What a process loads before its work begins is what every command, every worker and every trial pays for. Modules are
 * counted, because a clock tells how busy a machine is.
 */

const home = join(import.meta.dirname, '..', '..', '..');
const coverageSchema = z.object({ result: z.array(z.object({ url: z.string() })) });

interface Loaded {
  readonly own: number;
  readonly ofPackages: number;
  /** Names of the packages. */
  readonly packages: ReadonlySet<string>;
}

/** What `earshot` loads in a process of its own, from its start to its end. */
async function loadedBy(words: readonly string[], speak: (say: (message: object) => void) => void = () => {}) {
  const cwd = temporaryFolder({});
  const coverage = join(cwd, 'coverage');
  mkdirSync(coverage);
  const child = spawn(process.execPath, [join(home, 'experiments/cli/earshot.mjs'), ...words], {
    cwd,
    env: { ...process.env, NODE_V8_COVERAGE: coverage },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const say = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const ends: TrialOutcome[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!words.includes('--parent')) return;
    const said = fromProcessSchema.parse(JSON.parse(line));
    if (said.say !== 'ended') return;
    ends.push(said.outcome);
    say({ say: 'stop' });
  });
  speak(say);
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect(code).toBe(0);
  return { ...modulesIn(coverage), ends };
}

function modulesIn(coverage: string): Loaded {
  const urls = readdirSync(coverage).flatMap((name) => {
    const { result } = coverageSchema.parse(JSON.parse(readFileSync(join(coverage, name), 'utf8')));
    return result.map(({ url }) => url.replace(/\?.*/, ''));
  });
  const files = [...new Set(urls)].filter((url) => url.startsWith('file:'));
  const own = files.filter((url) => !url.includes('/node_modules/'));
  // What runs TypeScript in a checkout is not part of the published package.
  const foreign = files.filter((url) => !own.includes(url) && !/\/(tsx|esbuild|get-tsconfig)\//.test(url));
  const names = foreign.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url);
  return { own: own.length, ofPackages: foreign.length, packages: new Set(names) };
}

it('says its version with hardly more than the parser of the command line', async () => {
  const { own, ofPackages, packages } = await loadedBy(['--version']);
  expect([...packages].sort()).toEqual(['@commander-js/extra-typings', 'commander']);
  expect(own).toBeLessThanOrEqual(8);
  expect(ofPackages).toBeLessThanOrEqual(10);
});

it('says what train takes without what trains', async () => {
  const { own, ofPackages, packages } = await loadedBy(['train', '--help']);
  expect([...packages].sort()).toEqual(['@commander-js/extra-typings', 'commander']);
  expect(own).toBeLessThanOrEqual(14);
  expect(ofPackages).toBeLessThanOrEqual(10);
});

it('starts a worker that waits for trials without what trains', async () => {
  const { own, ofPackages, packages } = await loadedBy(['worker', '--parent'], (say) => say({ say: 'stop' }));
  expect([...packages].sort()).toEqual(['@commander-js/extra-typings', 'commander', 'zod']);
  expect(own).toBeLessThanOrEqual(20);
  expect(ofPackages).toBeLessThanOrEqual(115);
});

it('trains without pages, servers, queues, language models and tables', async () => {
  const place = {
    label: 'tiny',
    directory: 'runs/tiny',
    runs: 'runs',
    detectorKey: null,
    backend: null,
  };
  const { own, ofPackages, packages, ends } = await loadedBy(['worker', '--parent'], (say) =>
    say({ say: 'run', trial: { kind: 'stop-agent', config: tiny, seed: 1, ...place } }),
  );
  expect(ends).toEqual([{ how: 'finished' }]);
  for (const name of ['openai', 'undici', 'vega', 'vega-lite', 'fastify', 'bullmq', 'ioredis', 'umap-js'])
    expect(packages).not.toContain(name);
  expect(own).toBeLessThanOrEqual(295);
  expect(ofPackages).toBeLessThanOrEqual(230);
});
