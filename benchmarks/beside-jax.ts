/*
 * An iteration of imitation on onnx, or by the plugin of xla, beside the same in JAX (jax-iteration.py): processor time, in turns, each in a process
 * of its own. Usage:
 *
 *   python3 -m venv venv && venv/bin/pip install jax==0.10.2
 *   taskset -c 1 node --import tsx benchmarks/beside-jax.ts --python venv/bin/python [--mode alg] [--dimensions 256,1024]
 *     [--rounds 3] [--warmup 300] [--timed 100] [--backend onnx|xla]
 *
 * Iterations that warm up are not timed, as JAX's compilation is not: each graph is traced twice before it is only run, and V8 compiles
 * functions that are called a few times in an iteration until about the 250th. `--warmup 0 --timed 300` times a whole training.
 *
 * `--script` names another program, which is called with numbers per state, runs (1), mode and iterations and prints "<ms> per run".
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { paperShapedProblem } from '../experiments/backends/time-training-step.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createImitation } from '../trainers/stop-agent/imitation-trainer.ts';

const { values: args } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    script: { type: 'string', default: join(import.meta.dirname, 'jax-iteration.py') },
    mode: { type: 'string', default: 'alg' },
    dimensions: { type: 'string', default: '256,1024' },
    rounds: { type: 'string', default: '3' },
    warmup: { type: 'string', default: '300' },
    timed: { type: 'string', default: '100' },
    backend: { type: 'string', default: 'onnx' },
    /** Of the process that times one shape of ours. */
    only: { type: 'string' },
  },
});

if (args.only !== undefined) await timeOurs(args.only);
else compare();

function compare(): void {
  const rows: string[][] = [];
  for (const dimensions of args.dimensions.split(',')) {
    const rounds = Array.from({ length: Number(args.rounds) }, () => {
      const theirs = runMs(args.python, [args.script, dimensions, '1', args.mode, args.timed]);
      const { warmup, timed, backend } = args;
      const words = ['--only', dimensions, '--warmup', warmup, '--timed', timed, '--backend', backend];
      return { theirs, ours: runMs(process.execPath, [...process.execArgv, import.meta.filename, ...words]) };
    });
    const column = (of: (round: { theirs: number; ours: number }) => number, digits: number) =>
      rounds.map((round) => of(round).toFixed(digits)).join(', ');
    const ratio = ({ theirs, ours }: { theirs: number; ours: number }) => ours / theirs;
    rows.push([
      dimensions,
      column(({ theirs }) => theirs, 1),
      column(({ ours }) => ours, 1),
      column(ratio, 2),
      mean(rounds.map(ratio)).toFixed(2),
    ]);
    console.log(rows.at(-1)?.join(' | '));
  }
  const head = ['numbers per state', 'JAX', 'ours', 'ours over JAX', 'mean'];
  console.log(`\nms of processor time per iteration, in each round:\n\n${markdownTable([head, ...rows])}`);
}

function runMs(program: string, words: readonly string[]): number {
  const printed = execFileSync(program, words, { encoding: 'utf8' });
  const match = /([\d.]+) per run/.exec(printed);
  if (match === null) throw new Error(`${program} ${words.join(' ')} printed no "<ms> per run": ${printed}`);
  return Number(match[1]);
}

async function timeOurs(dimensions: string): Promise<void> {
  await selectBackend(z.enum(['onnx', 'xla']).parse(args.backend));
  const config = stopAgentSchema.parse({ iterations: 1000, imitation: { discriminator: { warmupIterations: 0 } } });
  const trainer = await createImitation({ seed: 1, config, problem: paperShapedProblem(Number(dimensions)) });
  for (let iteration = 0; iteration < Number(args.warmup); iteration++) await trainer.iterate(workContext());
  const before = process.cpuUsage();
  for (let iteration = 0; iteration < Number(args.timed); iteration++) await trainer.iterate(workContext());
  const { user, system } = process.cpuUsage(before);
  trainer.dispose();
  // Where EARSHOT_ONNX_PROFILE is set (iteration-profile.ts), a graph writes its profile now.
  tf.backend().dispose();
  console.log(`${((user + system) / 1000 / Number(args.timed)).toFixed(1)} per run`);
}
