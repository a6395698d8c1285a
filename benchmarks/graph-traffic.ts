/*
 * Graphs that run in an iteration of imitation, and what goes into and comes out of them between the memory of this process and the
 * device: what a GPU would wait for. The state table and the weights are inputs of the processor's graphs, where they cost nothing.
 * Usage:
 *
 *   node --import tsx benchmarks/graph-traffic.ts [--backend onnx] [--dimensions 256]
 */
import { parseArgs } from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { paperShapedProblem } from '../experiments/backends/time-training-step.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { GraphBackend } from '../src/tensor/graph/graph-backend.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createImitation } from '../trainers/stop-agent/imitation-trainer.ts';

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'onnx' },
    dimensions: { type: 'string', default: '256' },
  },
});
await selectBackend(z.enum(['onnx', 'xla']).parse(options.backend));
const backend = tf.backend();
if (!(backend instanceof GraphBackend)) throw new Error('the backend runs no graphs');
const { traffic } = backend;
const config = stopAgentSchema.parse({ imitation: { discriminator: { warmupIterations: 0 } } });
const trainer = await createImitation({ seed: 1, config, problem: paperShapedProblem(Number(options.dimensions)) });
for (let iteration = 1; iteration <= 3; iteration++) {
  const { runs, bytesIn, bytesOut } = traffic;
  traffic.largestIn = 0;
  await trainer.iterate(workContext());
  const [kilobytesIn, kilobytesOut, largest] = [
    traffic.bytesIn - bytesIn,
    traffic.bytesOut - bytesOut,
    traffic.largestIn,
  ].map((bytes) => (bytes / 1000).toFixed(0));
  console.log(
    `iteration ${iteration}: ${traffic.runs - runs} graphs, ${kilobytesIn} kB in (largest input ${largest} kB), ${kilobytesOut} kB out`,
  );
}
trainer.dispose();
process.exit(0);
