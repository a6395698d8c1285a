/*
 * Where the processor time of an iteration of imitation goes on the onnx backend: each graph by the kind of its nodes, and what is
 * left for JavaScript and the binding. The runtime's profile lengthens each node by two or three microseconds, so a second process
 * without it gives the totals. Usage:
 *
 *   taskset -c 1 node --import tsx benchmarks/iteration-profile.ts [--dimensions 256] [--members 1] [--timed 40]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { paperShapedProblem } from '../experiments/run/time-training-step.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createImitation } from '../trainers/stop-agent/imitation-trainer.ts';

const { values: given } = parseArgs({
  options: {
    dimensions: { type: 'string', default: '256' },
    members: { type: 'string', default: '1' },
    timed: { type: 'string', default: '40' },
    /** Of a process that only runs. */
    only: { type: 'boolean', default: false },
  },
});
const [dimensions, members, timed] = [given.dimensions, given.members, given.timed].map(Number);
/** Each graph is traced twice before it is only run, and V8 compiles what is called often. */
const warmup = 60;

/** Operators by what they are, where they are not arithmetic on each number. */
const kinds: Readonly<Record<string, string>> = {
  MatMul: 'products',
  FusedMatMul: 'products',
  Gather: 'moves',
  Slice: 'moves',
  Split: 'moves',
  Concat: 'moves',
  Pad: 'moves',
  Reshape: 'moves',
  Transpose: 'moves',
};

const profileSchema = z.array(
  z.object({
    cat: z.string(),
    name: z.string(),
    dur: z.number(),
    args: z.object({ op_name: z.string().optional() }).optional(),
  }),
);

if (given.only) await iterate();
else show();

async function iterate(): Promise<void> {
  await selectBackend('onnx');
  const config = stopAgentSchema.parse({ iterations: 1000, imitation: { discriminator: { warmupIterations: 0 } } });
  const problem = paperShapedProblem(dimensions);
  const trainer = await createImitation(
    Array.from({ length: members }, (_, index) => ({ seed: index + 1, config, problem })),
  );
  for (let iteration = 0; iteration < warmup; iteration++) await trainer.iterate(workContext());
  const before = process.cpuUsage();
  for (let iteration = 0; iteration < timed; iteration++) await trainer.iterate(workContext());
  const { user, system } = process.cpuUsage(before);
  trainer.dispose();
  tf.backend().dispose();
  console.log((user + system) / 1000 / timed);
}

function run(more: NodeJS.ProcessEnv): number {
  const words = [import.meta.filename, '--only', ...process.argv.slice(2)];
  const env = { ...process.env, ...more };
  return Number(execFileSync(process.execPath, [...process.execArgv, ...words], { encoding: 'utf8', env }));
}

function show(): void {
  const total = run({});
  const folder = mkdtempSync(join(tmpdir(), 'earshot-profile-'));
  try {
    run({ EARSHOT_ONNX_PROFILE: join(folder, 'graph') });
    const rows = readdirSync(folder).flatMap((name) => rowsOf(join(folder, name)));
    const head = ['graph', 'nodes', 'kind', 'ms an iteration, with the profile'];
    console.log(markdownTable([head, ...rows]));
  } finally {
    rmSync(folder, { recursive: true });
  }
  console.log(`\nAn iteration without the profile takes ${total.toFixed(1)} ms of processor time.`);
}

/** Of one graph that ran in every iteration; the others are left out. */
function rowsOf(file: string): string[][] {
  const events = profileSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const runs = events.filter(({ name }) => name === 'model_run').length;
  if (runs < warmup + timed) return [];
  const sums = new Map<string, { nodes: number; us: number }>();
  for (const { cat, name, dur, args } of events) {
    if (cat !== 'Node' || !name.endsWith('_kernel_time')) continue;
    const kind = kinds[args?.op_name ?? ''] ?? 'arithmetic';
    const { nodes, us } = sums.get(kind) ?? { nodes: 0, us: 0 };
    sums.set(kind, { nodes: nodes + 1, us: us + dur });
  }
  const all = Array.from(sums.values(), ({ nodes }) => nodes).reduce((sum, nodes) => sum + nodes, 0);
  return Array.from(sums, ([kind, { nodes, us }]) => [
    `${Math.round(all / runs)} nodes`,
    String(Math.round(nodes / runs)),
    kind,
    (us / 1000 / (warmup + timed)).toFixed(2),
  ]);
}
