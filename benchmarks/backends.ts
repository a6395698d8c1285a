/*
 * Iterations per second of the stop agent at the paper's shapes, on every backend that works here. Backends take turns, so that a busy
 * machine slows all of them alike.
 * Times are of the processor, of all threads together: pin the process to one core (`taskset -c 0`) and they are what a quiet
 * core would take. Usage:
 *
 *   taskset -c 0 node --import tsx benchmarks/backends.ts [--backends wasm,tensorflow,cpu] [--dimensions 256,1024] [--rounds 3]
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { paperShapedProblem } from '../experiments/backends/time-training-step.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { type BackendName, backendNames } from '../src/tensor/backend-names.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createImitation } from '../trainers/stop-agent/imitation-trainer.ts';

const { values: options } = parseArgs({
  options: {
    backends: { type: 'string', default: 'wasm,tensorflow,cpu' },
    dimensions: { type: 'string', default: '256,1024' },
    rounds: { type: 'string', default: '3' },
  },
});
const listOf = (text: string) => text.split(',');
const backends = listOf(options.backends).map((name) => z.enum(backendNames).parse(name));

console.log(`load ${loadavg()[0].toFixed(1)} at the start`);
for (const dimensions of listOf(options.dimensions).map(Number)) {
  const times = backends.map(() => Number.POSITIVE_INFINITY);
  // The least of the rounds: what others do on the machine only adds.
  for (let round = 0; round < Number(options.rounds); round++)
    for (const [index, backend] of backends.entries())
      times[index] = Math.min(times[index], await processorMs({ backend, dimensions }));
  const rows = backends.map((backend, index) => [backend, times[index].toFixed(0), (1000 / times[index]).toFixed(1)]);
  console.log(`\n${dimensions} dimensions\n`);
  console.log(markdownTable([['backend', 'ms per iteration', 'iterations per second'], ...rows]));
}
console.log(`\nload ${loadavg()[0].toFixed(1)} at the end`);

/** Milliseconds of processor time that an iteration takes, after one to warm up. */
async function processorMs({ backend, dimensions }: { backend: BackendName; dimensions: number }): Promise<number> {
  await selectBackend(backend);
  const iterations = 3;
  const config = stopAgentSchema.parse({
    iterations: iterations + 1,
    imitation: { discriminator: { warmupIterations: 0 } },
  });
  const trainer = await createImitation({ seed: 1, config, problem: paperShapedProblem(dimensions) });
  await trainer.iterate(workContext());
  const before = process.cpuUsage();
  while (trainer.iteration < trainer.iterations) await trainer.iterate(workContext());
  const { user, system } = process.cpuUsage(before);
  trainer.dispose();
  return (user + system) / 1000 / iterations;
}
