/*
 * Where the processor time of an iteration of imitation goes on the onnx backend: each graph by the kind of its nodes, and what is
 * left for JavaScript and the binding. The runtime's profile lengthens each node by two or three microseconds, so a second process
 * without it gives the totals. Usage:
 *
 *   taskset -c 1 node --import tsx benchmarks/iteration-profile.ts [--dimensions 256] [--timed 40]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';

const { values: args } = parseArgs({
  options: {
    dimensions: { type: 'string', default: '256' },
    timed: { type: 'string', default: '40' },
  },
});
/** Times the same iterations, after others to warm up. */
const timing = join(import.meta.dirname, 'beside-jax.ts');

/** Operators by what they are, where they are not arithmetic on each number. */
const kinds: Readonly<Record<string, string>> = {
  Gemm: 'products',
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

const iterationMs = run({});
const folder = mkdtempSync(join(tmpdir(), 'earshot-profile-'));
try {
  run({ EARSHOT_ONNX_PROFILE: join(folder, 'graph') });
  const rows = readdirSync(folder).flatMap((name) => rowsOf(join(folder, name)));
  const head = ['graph', 'nodes that run', 'kind', 'ms an iteration, with the profile'];
  console.log(markdownTable([head, ...rows]));
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`\nAn iteration without the profile takes ${iterationMs.toFixed(1)} ms of processor time.`);

function run(more: NodeJS.ProcessEnv): number {
  const words = [timing, '--only', args.dimensions, '--warmup', '60', '--timed', args.timed];
  const env = { ...process.env, ...more };
  return Number.parseFloat(execFileSync(process.execPath, [...process.execArgv, ...words], { encoding: 'utf8', env }));
}

/** Of one graph; those that ran less often than is timed are left out. */
function rowsOf(file: string): string[][] {
  const events = profileSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const runs = events.filter(({ name }) => name === 'model_run').length;
  if (runs < Number(args.timed)) return [];
  const sums = new Map<string, { nodes: number; us: number }>();
  for (const { cat, name, dur, args } of events) {
    // The nodes that a Scan repeats are there themselves, once for each step.
    if (cat !== 'Node' || !name.endsWith('_kernel_time') || args?.op_name === 'Scan') continue;
    const kind = kinds[args?.op_name ?? ''] ?? 'arithmetic';
    const { nodes, us } = sums.get(kind) ?? { nodes: 0, us: 0 };
    sums.set(kind, { nodes: nodes + 1, us: us + dur });
  }
  const all = Array.from(sums.values(), ({ nodes }) => nodes).reduce((sum, nodes) => sum + nodes, 0);
  return Array.from(sums, ([kind, { nodes, us }]) => [
    `${Math.round(all / runs)} nodes run`,
    String(Math.round(nodes / runs)),
    kind,
    (us / 1000 / runs).toFixed(2),
  ]);
}
