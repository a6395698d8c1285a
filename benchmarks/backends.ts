/*
 * Member-iterations a second of the stop agent at the paper's shapes, on every backend that works here, alone and in
 * batches. Backends take turns, so that a busy machine slows all of them alike.
 * Times are of the processor, of all threads together: pin the process to one core (`taskset -c 0`) and they are what a quiet
 * core would take. Usage:
 *
 *   taskset -c 0 node --import tsx benchmarks/backends.ts [--backends wasm,tensorflow,cpu] [--dimensions 256,1024]
 *     [--members 1,8,32] [--rounds 3]
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
    members: { type: 'string', default: '1,8,32' },
    rounds: { type: 'string', default: '3' },
  },
});
const listOf = (text: string) => text.split(',');
const backends = listOf(options.backends).map((name) => z.enum(backendNames).parse(name));

/** A setting that takes longer than this for an iteration, going by a smaller batch, is left out. */
const longestMs = 15_000;

console.log(`load ${loadavg()[0].toFixed(1)} at the start`);
for (const dimensions of listOf(options.dimensions).map(Number)) {
  const rows: string[][] = [];
  const memberMs = new Map<string, number>();
  for (const members of listOf(options.members).map(Number)) {
    const affordable = backends.filter((backend) => members * (memberMs.get(backend) ?? 0) < longestMs);
    const times = affordable.map(() => Number.POSITIVE_INFINITY);
    // The least of the rounds: what others do on the machine only adds.
    for (let round = 0; round < Number(options.rounds); round++)
      for (const [index, backend] of affordable.entries())
        times[index] = Math.min(times[index], await processorMs({ backend, dimensions, members }));
    for (const [index, backend] of affordable.entries()) {
      const ms = times[index] / members;
      memberMs.set(backend, ms);
      rows.push([backend, String(members), ms.toFixed(0), (1000 / ms).toFixed(1)]);
    }
  }
  console.log(`\n${dimensions} dimensions\n`);
  const title = ['backend', 'members', 'ms a member-iteration', 'member-iterations a second'];
  console.log(markdownTable([title, ...rows]));
}
console.log(`\nload ${loadavg()[0].toFixed(1)} at the end`);

/** Milliseconds of processor time that one iteration of all members takes, after one to warm up. */
async function processorMs(setting: { backend: BackendName; dimensions: number; members: number }): Promise<number> {
  const { backend, dimensions, members } = setting;
  await selectBackend(backend);
  const iterations = members === 1 ? 3 : 1;
  const config = stopAgentSchema.parse({
    iterations: iterations + 1,
    imitation: { discriminator: { warmupIterations: 0 } },
  });
  const problem = paperShapedProblem(dimensions);
  const batch = Array.from({ length: members }, (_, index) => ({ seed: index + 1, config, problem }));
  const trainer = await createImitation(batch);
  await trainer.iterate(workContext());
  const before = process.cpuUsage();
  while (trainer.iteration < trainer.iterations) await trainer.iterate(workContext());
  const { user, system } = process.cpuUsage(before);
  trainer.dispose();
  return (user + system) / 1000 / iterations;
}
