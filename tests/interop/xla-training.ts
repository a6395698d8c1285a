import * as tf from '@tensorflow/tfjs-core';
import { selectBackend } from '../../src/tensor/backend.ts';
import type { BackendName } from '../../src/tensor/backend-names.ts';
import { together } from '../../src/tensor/graph/compiled.ts';
import { GraphBackend } from '../../src/tensor/graph/graph-backend.ts';
import { workContext } from '../../src/work-context.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { Trainer } from '../../trainers/trainer.ts';
import { type AgentInput, smallProblem, smallSettings } from '../trainers/stop-agent/small-problem.ts';

/*
 * Trains small agents on wasm, and on xla alone and together, and prints what came out. Arguments: the options of the agents as
 * JSON, and how many are trained. It runs as a process of its own, for an error in a plugin ends it.
 */

const iterations = 4;
/** When everything that stays on the device is there. */
const settled = 2;

function create(options: AgentInput, seed: number): Promise<Trainer<StopPolicy>> {
  return createStopAgent(smallSettings({ seed, more: { iterations, ...options } }));
}

async function weightsOf(trainer: Trainer<StopPolicy>): Promise<number[]> {
  const { parameters } = await trainer.policy();
  return Object.values(parameters).flatMap(({ data }) => [...data]);
}

interface Interruption {
  /** Before this iteration the trainer is made again from its state. */
  readonly resumeAt?: number;
  /** Before this iteration the run fails. */
  readonly failAt?: number;
  /** Before this iteration its state is no number. */
  readonly divergeAt?: number;
}

async function trained(options: AgentInput, seed: number, { resumeAt, failAt, divergeAt }: Interruption = {}) {
  let trainer = await create(options, seed);
  try {
    for (let iteration = 0; iteration < iterations; iteration++) {
      if (iteration === failAt) throw new Error('this run was told to fail');
      if (iteration === resumeAt || iteration === divergeAt) {
        const state = await trainer.state();
        if (iteration === divergeAt) for (const { data } of Object.values(state.arrays)) data.fill(Number.NaN);
        trainer.dispose();
        trainer = await create(options, seed);
        trainer.restore(state);
      }
      await trainer.iterate(workContext());
    }
    return await weightsOf(trainer);
  } finally {
    trainer.dispose();
  }
}

function apart(some: readonly (readonly number[])[], others: readonly (readonly number[])[]): number {
  const largest = Math.max(...some.flat().map(Math.abs));
  return (
    Math.max(
      ...some.map((own, index) => Math.max(...own.map((weight, place) => Math.abs(weight - others[index][place])))),
    ) / largest
  );
}

const options: AgentInput = JSON.parse(process.argv[2]);
const seeds = Array.from({ length: Number(process.argv[3]) }, (_, index) => index + 1);

async function group(interruptionOf: (seed: number) => Interruption): Promise<(readonly number[])[]> {
  const results = await together(seeds.map((seed) => () => trained(options, seed, interruptionOf(seed))));
  return results.map((result) => {
    if (result.status === 'fulfilled') return result.value;
    if (!/told to fail|was not scored|NaN/.test(String(result.reason))) throw result.reason;
    return [];
  });
}

async function onBackend<T>(name: BackendName, work: () => Promise<T>): Promise<T> {
  await selectBackend(name);
  const before = tf.memory().numTensors;
  const result = await work();
  if (tf.memory().numTensors !== before) throw new Error(`${tf.memory().numTensors - before} tensors were left`);
  return result;
}

/** What a settled iteration of one run alone costs. */
async function trafficOf(): Promise<{ runs: number; largestIn: number }> {
  const backend = tf.backend();
  if (!(backend instanceof GraphBackend)) throw new Error('the backend is another');
  const trainer = await create(options, 1);
  for (let iteration = 0; iteration < settled; iteration++) await trainer.iterate(workContext());
  const runs = backend.traffic.runs;
  backend.traffic.largestIn = 0;
  await trainer.iterate(workContext());
  trainer.dispose();
  return { runs: backend.traffic.runs - runs, largestIn: backend.traffic.largestIn };
}

const one = async (interruption: Interruption = {}) => {
  const all: (readonly number[])[] = [];
  for (const seed of seeds) all.push(await trained(options, seed, interruption));
  return all;
};
const wasm = await onBackend('wasm', one);
const [alone, resumed, traffic] = await onBackend('xla', async () => [
  await one(),
  await one({ resumeAt: 3 }),
  await trafficOf(),
]);
const plain = await onBackend('xla', () => group(() => ({})));
const again = await onBackend('xla', () => group(() => ({ resumeAt: 2 })));
const troubled = await onBackend('xla', () =>
  group((seed) => (seed === 2 ? { failAt: 2 } : seed === 3 ? { divergeAt: 2 } : {})),
);
/** Runs whose bytes differ from those of the plain group. */
const changed = (others: readonly (readonly number[])[]) =>
  seeds.filter((_, index) => JSON.stringify(others[index]) !== JSON.stringify(plain[index]));
console.log(
  JSON.stringify({
    alone: apart(wasm, alone),
    resumed: apart(alone, resumed),
    together: apart(wasm, plain),
    resumedTogether: changed(again),
    troubled: changed(troubled),
    ...traffic,
    tableBytes: smallProblem().table.data.byteLength,
  }),
);
process.exit(0);
