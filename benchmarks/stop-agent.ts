/*
 * Iterations a second of the stop agent at the paper's shapes: 50 + 100 threads, median length 16, 200 steps, 16 policy
 * and 15 discriminator updates with penalty, at several state widths and population sizes. Times are of one member. Usage:
 *
 *   node --import tsx benchmarks/stop-agent.ts [--backend auto|wasm|cpu|tensorflow] [--dimensions 256,768,1024]
 *     [--members 1,4] [--iterations 20]
 */
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { markdownTable } from 'markdown-table';
import { paperShapedProblem } from '../experiments/run/time-training-step.ts';
import { backendSchema, selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import type { ImitationPhase } from '../trainers/stop-agent/imitation-state.ts';
import { createImitation } from '../trainers/stop-agent/imitation-trainer.ts';

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'auto' },
    dimensions: { type: 'string', default: '256,768,1024' },
    members: { type: 'string', default: '1' },
    iterations: { type: 'string', default: '20' },
  },
});
const backend = await selectBackend(backendSchema.parse(options.backend));
console.log(`backend ${backend.name} (${backend.device})`);

const phases: readonly ImitationPhase[] = ['rollout', 'discriminator', 'rewards', 'policy', 'metrics'];
/** Iterations before the clock starts: they have more discriminator epochs and warm the kernels up. */
const warmup = 12;

const rows: string[][] = [];
for (const dimensions of options.dimensions.split(',').map(Number))
  for (const members of options.members.split(',').map(Number)) rows.push(await measure({ dimensions, members }));
const title = [
  'dimensions',
  'members',
  'ms a member iteration',
  ...phases.map((phase) => `${phase}, ms`),
  'steps/s',
  'peak memory, MB',
];
console.log(markdownTable([title, ...rows], { align: title.map(() => 'r') }));

async function measure({ dimensions, members }: { dimensions: number; members: number }): Promise<string[]> {
  const iterations = Number(options.iterations);
  const config = stopAgentSchema.parse({ iterations: iterations + warmup });
  const spentMs = new Map<string, number>();
  let phase = 'between iterations';
  let sinceMs = performance.now();
  let isCounted = false;
  const enter = (next: string) => {
    const nowMs = performance.now();
    if (isCounted) spentMs.set(phase, (spentMs.get(phase) ?? 0) + nowMs - sinceMs);
    phase = next;
    sinceMs = nowMs;
  };
  const problem = paperShapedProblem(dimensions);
  const population = Array.from({ length: members }, (_, index) => ({ seed: index + 1, config, problem }));
  const trainer = await createImitation(population, { onPhase: enter });
  while (trainer.iteration < trainer.iterations) {
    enter('between iterations');
    isCounted = trainer.iteration >= warmup;
    await trainer.iterate(workContext());
  }
  enter('after the last');
  trainer.dispose();
  if (tf.memory().numTensors !== 0) throw new Error(`${tf.memory().numTensors} tensors were left behind`);
  const perIteration = (name: string) => (spentMs.get(name) ?? 0) / iterations / members;
  const totalMs = phases.reduce((sum, name) => sum + perIteration(name), 0);
  return [
    String(dimensions),
    String(members),
    totalMs.toFixed(0),
    ...phases.map((name) => perIteration(name).toFixed(0)),
    ((1000 * config.imitation.ppo.stepsPerIteration) / totalMs).toFixed(0),
    (process.resourceUsage().maxRSS / 1024).toFixed(0),
  ];
}
