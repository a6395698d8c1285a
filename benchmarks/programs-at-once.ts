/*
 * Iterations a second of several programs that train at the same time, on the cores of this machine or sharing its GPU: all together,
 * by the clock. Each is a process of its own; they are timed from when all of them have run a few iterations. Usage:
 *
 *   node --import tsx benchmarks/programs-at-once.ts [--backend onnx] [--programs 2] [--dimensions 256] [--seconds 10]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { paperShapedProblem } from '../experiments/backends/time-training-step.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { backendNames } from '../src/tensor/backend-names.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createImitation } from '../trainers/stop-agent/imitation-trainer.ts';

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'onnx' },
    programs: { type: 'string', default: String(availableParallelism()) },
    dimensions: { type: 'string', default: '256' },
    seconds: { type: 'string', default: '10' },
  },
});
const [programs, dimensions, seconds] = [options.programs, options.dimensions, options.seconds].map(Number);
const warmup = 3;

if (process.send === undefined) await compare();
else await train();

async function compare(): Promise<void> {
  const children = Array.from({ length: programs }, () => fork(import.meta.filename, process.argv.slice(2)));
  const next = async (child: ChildProcess) => z.number().parse((await once(child, 'message'))[0]);
  await Promise.all(children.map(next));
  for (const child of children) child.send('begin');
  const rates = await Promise.all(children.map(next));
  const rate = rates.reduce((sum, own) => sum + own, 0);
  console.log(
    `${options.backend}, ${dimensions} numbers, ${programs} programs: ${rate.toFixed(0)} iterations a second`,
  );
}

async function train(): Promise<void> {
  await selectBackend(z.enum(backendNames).parse(options.backend));
  const config = stopAgentSchema.parse({ imitation: { discriminator: { warmupIterations: 0 } } });
  const trainer = await createImitation({ seed: 1, config, problem: paperShapedProblem(dimensions) });
  for (let iteration = 0; iteration < warmup; iteration++) await trainer.iterate(workContext());
  process.send?.(0);
  await once(process, 'message');
  const startedMs = performance.now();
  let iterations = 0;
  while (performance.now() - startedMs < 1000 * seconds) {
    await trainer.iterate(workContext());
    iterations++;
  }
  process.send?.((1000 * iterations) / (performance.now() - startedMs), () => process.exit(0));
}
