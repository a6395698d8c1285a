import * as tf from '@tensorflow/tfjs-core';
import { selectBackend } from '../../src/tensor/backend.ts';
import type { BackendName } from '../../src/tensor/backend-names.ts';
import { OnnxBackend } from '../../src/tensor/onnx/backend.ts';
import { workContext } from '../../src/work-context.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { Trainer } from '../../trainers/trainer.ts';
import { type AgentInput, smallProblem, smallSettings } from '../trainers/stop-agent/small-problem.ts';

/*
 * Trains small agents on wasm and on webgpu, where they are resumed before the last iteration, and prints for each training how far
 * the weights are apart. Argument: a list of options of agents as JSON. It runs as a process of its own, for a lost device ends it.
 */

const iterations = 4;
/** When everything that stays on the device is there; the next iteration begins with a new trainer. */
const settled = 2;

interface Trained {
  readonly weights: readonly number[];
  /** Of the settled iteration: graphs that ran, and bytes of their largest input. */
  readonly runs: number;
  readonly largestIn: number;
}

function create(options: AgentInput): Promise<Trainer<StopPolicy>> {
  return createStopAgent(smallSettings({ more: { iterations, ...options } }));
}

async function trained(name: BackendName, options: AgentInput): Promise<Trained> {
  await selectBackend(name);
  const backend = tf.backend();
  const traffic = backend instanceof OnnxBackend ? backend.traffic : { runs: 0, largestIn: 0 };
  const before = tf.memory().numTensors;
  let trainer = await create(options);
  let [runs, largestIn] = [0, 0];
  for (let iteration = 0; iteration < iterations; iteration++) {
    if (name === 'webgpu' && iteration === settled + 1) {
      const state = await trainer.state();
      trainer.dispose();
      trainer = await create(options);
      trainer.restore(state);
    }
    const start = traffic.runs;
    traffic.largestIn = 0;
    await trainer.iterate(workContext());
    if (iteration === settled) [runs, largestIn] = [traffic.runs - start, traffic.largestIn];
  }
  const { parameters } = await trainer.policy();
  trainer.dispose();
  if (tf.memory().numTensors !== before) throw new Error(`${tf.memory().numTensors - before} tensors were left`);
  const weights = Object.values(parameters).flatMap(({ data }) => [...data]);
  return { weights, runs, largestIn };
}

const tableBytes = smallProblem().table.data.byteLength;
const found = [];
for (const options of JSON.parse(process.argv[2]) as AgentInput[]) {
  const here = await trained('wasm', options);
  const there = await trained('webgpu', options);
  const largest = Math.max(...here.weights.map(Math.abs));
  const difference = Math.max(...here.weights.map((weight, place) => Math.abs(weight - there.weights[place])));
  const { runs, largestIn } = there;
  found.push({ difference: difference / largest, runs, tableBytes, largestIn });
}
console.log(JSON.stringify(found));
process.exit(0);
