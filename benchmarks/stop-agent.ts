/*
 * Iterations a second of the stop agent at the paper's shapes: 50 + 100 threads, median length 16, 200 steps, 16 policy
 * and 15 discriminator updates with penalty, at several state widths. Usage:
 *
 *   node --import tsx benchmarks/stop-agent.ts [--backend auto|wasm|cpu|tensorflow] [--dimensions 256,768,1024]
 *     [--iterations 20]
 */
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { markdownTable } from 'markdown-table';
import { paperShapedData } from '../experiments/time-training-step.ts';
import { backendSchema, selectBackend } from '../src/tensor/backend.ts';
import { trainStopAgent } from '../trainers/stop-agent.ts';
import { stopAgentSchema } from '../trainers/stop-agent-config.ts';
import { createStopAgentTraining, disposeStopAgentTraining } from '../trainers/stop-agent-training.ts';

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'auto' },
    dimensions: { type: 'string', default: '256,768,1024' },
    iterations: { type: 'string', default: '20' },
  },
});
const backend = await selectBackend(backendSchema.parse(options.backend));
console.log(`backend ${backend.name} (${backend.device})`);

const rows: string[][] = [];
for (const dimensions of options.dimensions.split(',').map(Number)) rows.push(await measure(dimensions));
console.log(markdownTable([['dimensions', 'ms an iteration', 'steps/s', 'peak memory, MB'], ...rows]));

async function measure(dimensions: number): Promise<string[]> {
  const config = stopAgentSchema.parse({ iterations: Number(options.iterations) + 12 });
  const training = createStopAgentTraining(paperShapedData(dimensions), [{ seed: 1, config }]);
  // The first iterations have more discriminator epochs and warm the kernels up.
  let startedMs = 0;
  await trainStopAgent(training, {
    onIteration: ({ iteration }) => {
      if (iteration === 12) startedMs = performance.now();
    },
  });
  const perIterationMs = (performance.now() - startedMs) / Number(options.iterations);
  disposeStopAgentTraining(training);
  if (tf.memory().numTensors !== 0) throw new Error(`${tf.memory().numTensors} tensors were left behind`);
  return [
    String(dimensions),
    perIterationMs.toFixed(0),
    ((1000 * config.ppo.stepsPerIteration) / perIterationMs).toFixed(0),
    (process.resourceUsage().maxRSS / 1024).toFixed(0),
  ];
}
