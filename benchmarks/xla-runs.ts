import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { paperShapedProblem } from '../experiments/backends/time-training-step.ts';
import { quantile } from '../src/metrics/summary-statistics.ts';
import { together } from '../src/tensor/graph/compiled.ts';
import { GraphBackend } from '../src/tensor/graph/graph-backend.ts';
import { registerKernels } from '../src/tensor/graph/kernels.ts';
import { loadEngine } from '../src/tensor/onnx/engine.ts';
import { type XlaClient, xlaEngine } from '../src/tensor/xla/engine.ts';
import type { Executable, Pjrt } from '../src/tensor/xla/pjrt.ts';
import { installedPlugin, keptPrograms, openPlugin } from '../src/tensor/xla/plugin.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createStopAgent } from '../trainers/stop-agent/create.ts';

/*
 * Iterations per second of imitation at the paper's shapes, of several runs together on the installed plugin, with what goes to and
 * from the device and the milliseconds of JavaScript: processor time of the main thread outside of the plugin's functions, the median of
 * the iterations. So waiting, for the device or for a core, does not count; on Linux only, elsewhere it is by the clock:
 *
 *   npx tsx benchmarks/xla-runs.ts --runs 1,32,128 [--dimensions 256] [--iterations 20] [--programs folder] [--idle]
 *
 * --programs writes the StableHLO of every program, which xla-kernels.ts compiles for a GPU that is not there. --idle replaces the plugin
 * by one that computes nothing: a device leaves the processor's caches alone, while the processor's plugin fills them.
 */

const { values: args } = parseArgs({
  options: {
    runs: { type: 'string', default: '1,32,128' },
    dimensions: { type: 'string', default: '256' },
    iterations: { type: 'string', default: '20' },
    programs: { type: 'string' },
    idle: { type: 'boolean', default: false },
  },
});
interface Plugin {
  readonly client: XlaClient & Pick<Pjrt, 'platformVersion' | 'memory'>;
  readonly compile: (text: string) => Executable;
}
const [dimensions, timed] = [Number(args.dimensions), Number(args.iterations)];
/** Until every program is compiled, and V8 has compiled what is called often. */
const warmup = 6;

const { client, compile } = args.idle ? idlePlugin() : await installedOne();
const { engine: eager } = await loadEngine();
let inPluginMs = 0;
const threadMs = await threadClock();
const clockMs = clockCost();
/** A client whose calls are timed. */
const timedClient = new Proxy(client, {
  get(target, name) {
    const member: unknown = Reflect.get(target, name);
    if (typeof member !== 'function') return member;
    return (...words: unknown[]) => {
      const started = threadMs();
      try {
        return member.apply(target, words);
      } finally {
        // The clock's own time is neither the plugin's nor ours.
        inPluginMs += threadMs() - started + clockMs;
      }
    };
  },
});
const programs: string[] = [];
const engine = xlaEngine({
  client: timedClient,
  eager,
  compile(text) {
    programs.push(text);
    return compile(text);
  },
  onNote: (line) => console.log(line),
});
tf.enableProdMode();
registerKernels();
tf.registerBackend('graph', () => new GraphBackend(engine));
await tf.setBackend('graph');

console.log(`${client.deviceKind} (${client.platformVersion}); ${dimensions} numbers a state`);
const problem = paperShapedProblem(dimensions);
for (const runs of args.runs.split(',').map(Number)) {
  programs.length = 0;
  const config = stopAgentSchema.parse({
    iterations: warmup + timed,
    imitation: { discriminator: { warmupIterations: 0 } },
  });
  const { traffic } = engine;
  let [started, before] = [0, { ...traffic }];
  const outsideMs: number[] = [];
  let [lastMs, lastInPluginMs] = [0, 0];
  const loop = (index: number) => async () => {
    const trainer = await createStopAgent({ seed: index + 1, config, problem });
    for (let iteration = 0; iteration < warmup + timed; iteration++) {
      if (iteration === warmup && index === 0) [started, before] = [performance.now(), { ...traffic }];
      await trainer.iterate(workContext());
      if (index > 0) continue;
      const now = threadMs();
      if (iteration >= warmup) outsideMs.push(now - lastMs - (inPluginMs - lastInPluginMs));
      [lastMs, lastInPluginMs] = [now, inPluginMs];
    }
    trainer.dispose();
  };
  const results = await together(Array.from({ length: runs }, (_, index) => loop(index)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  const tookMs = performance.now() - started;
  const each = (now: number, then: number) => Math.round((now - then) / timed);
  const memory = client.memory();
  console.log(
    `${runs} runs: ${((1000 * timed * runs) / tookMs).toPrecision(3)} iterations per second; per iteration of all: ${each(traffic.runs, before.runs)} programs, ${each(traffic.bytesIn, before.bytesIn)} bytes in, ${each(traffic.bytesOut, before.bytesOut)} bytes out; ${(quantile(Float64Array.from(outsideMs).sort(), 0.5) / runs).toFixed(2)} ms of JavaScript per run${memory === null ? '' : `; at most ${((memory.peakBytes ?? memory.usedBytes) / 2 ** 20).toFixed(0)} MiB of the device in use so far`}`,
  );
  if (args.programs === undefined) continue;
  mkdirSync(args.programs, { recursive: true });
  for (const [index, text] of programs.entries())
    writeFileSync(join(args.programs, `${runs}-runs-${index + 1}.mlir`), text);
}

async function installedOne(): Promise<Plugin> {
  const installed = installedPlugin();
  if (installed === null) throw new Error('install a plugin with `earshot backend install xla --device …`');
  const client = await openPlugin(installed);
  return { client, compile: keptPrograms(client, installed, console.log) };
}

function idlePlugin(): Plugin {
  let made = 0n;
  return {
    client: {
      ...{ deviceKind: 'no device', platformVersion: 'computes nothing', memory: () => null, free() {}, unload() {} },
      upload: () => ++made,
      execute: ({ outputs }) => Array.from({ length: outputs }, () => ++made),
      // A logarithm of a probability, a value or a logit.
      download: (_, into) => void into.fill(-0.7),
    },
    compile(text) {
      const [, results = ''] = /-> \((.*)\) \{/.exec(text) ?? [];
      return { handle: ++made, outputs: results.split('tensor<').length - 1 };
    },
  };
}

/** The cost of reading the clock: some microseconds, twice for each of a hundred calls in an iteration. */
function clockCost(): number {
  const looks = 5000;
  for (let look = 0; look < looks; look++) threadMs();
  const started = threadMs();
  for (let look = 0; look < looks; look++) threadMs();
  return (threadMs() - started) / looks;
}

/** Processor time of this thread, of which Node 20 knows nothing. */
async function threadClock(): Promise<() => number> {
  if (process.platform !== 'linux') return () => performance.now();
  const { default: koffi } = await import('koffi');
  const read = koffi.load(null).func('int clock_gettime(int clock, void *time)');
  const time = new BigInt64Array(2);
  return () => {
    // CLOCK_THREAD_CPUTIME_ID
    read(3, time);
    return Number(time[0]) * 1000 + Number(time[1]) / 1e6;
  };
}
