import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { type Checkpoint, loadCheckpoint, saveCheckpoint } from '../../checkpoints/checkpoint.ts';
import { InputError } from '../../src/errors.ts';
import { namesOf, type Optimized, type Tensors } from '../../src/tensor/adam.ts';
import type { Moments } from '../../src/tensor/normalizer.ts';
import { Random } from '../../src/tensor/random.ts';
import { refreshStates, type StopAgentTraining } from './setup.ts';

const kind = 'stop-agent';
const formatVersion = 1;

const stateSchema = z.strictObject({
  iteration: z.int(),
  /** What the states are made of: a policy means nothing on the states of another encoder. */
  stateIdentity: z.string(),
  momentsCount: z.number(),
  updates: z.strictObject({ agent: z.int(), discriminator: z.int() }),
  members: z.array(
    z.strictObject({
      random: z.array(z.int()),
      environment: z.strictObject({ position: z.int(), step: z.int(), previous: z.int(), stopped: z.boolean() }),
      runningReturn: z.strictObject({
        discountedSum: z.number(),
        mean: z.number(),
        variance: z.number(),
        count: z.number(),
      }),
      streamPositions: z.array(z.int()),
    }),
  ),
});
type State = z.infer<typeof stateSchema>;
type Arrays = Checkpoint<State>['arrays'];

/** Everything a training needs to go on bit for bit: weights, moments, normaliser, random streams, environments. */
export function saveStopAgent(path: string, training: StopAgentTraining, stateIdentity: string): void {
  const arrays: Record<string, Arrays[string]> = {
    ...optimizedArrays('agent', training.agent),
    ...optimizedArrays('discriminator', training.discriminator),
    'normalizer/mean': { shape: [training.moments.mean.length], data: training.moments.mean },
    'normalizer/variance': { shape: [training.moments.variance.length], data: training.moments.variance },
  };
  for (const [index, { environmentState, streams }] of training.members.entries()) {
    arrays[`member${index}/environment`] = { shape: [environmentState.order.length], data: environmentState.order };
    for (const [set, { order }] of streams.entries())
      arrays[`member${index}/stream${set}`] = { shape: [order.length], data: order };
  }
  const state: State = {
    iteration: training.iteration,
    stateIdentity,
    momentsCount: training.moments.count,
    updates: { agent: training.agent.updates, discriminator: training.discriminator.updates },
    members: training.members.map(({ random, environmentState, runningReturn, streams }) => {
      const { position, step, previous, stopped } = environmentState;
      return {
        random: random.state(),
        environment: { position, step, previous, stopped },
        runningReturn: { ...runningReturn },
        streamPositions: streams.map(({ position }) => position),
      };
    }),
  };
  saveCheckpoint(path, { kind, formatVersion, arrays, state });
}

/**
 * Puts a freshly created training where the checkpoint left off.
 * @throws InputError when the checkpoint is of other states (another encoder, say) or of other sizes.
 */
export function restoreStopAgent(path: string, training: StopAgentTraining, stateIdentity: string): void {
  const { arrays, state } = loadCheckpoint(path, { kind, formatVersion, stateSchema });
  checkIdentity(path, state.stateIdentity, stateIdentity);
  if (state.members.length !== training.members.length)
    throw new InputError(`${path} holds ${state.members.length} members, and ${training.members.length} are trained`);
  restoreOptimized(path, arrays, { name: 'agent', optimized: training.agent, updates: state.updates.agent });
  restoreOptimized(path, arrays, {
    name: 'discriminator',
    optimized: training.discriminator,
    updates: state.updates.discriminator,
  });
  for (const part of ['mean', 'variance'] as const) {
    const saved = floats64(path, arrays, `normalizer/${part}`);
    if (saved.length !== training.moments[part].length)
      throw new InputError(
        `${path}: normalizer/${part} has ${saved.length} entries, and ${training.moments[part].length} are needed; use the same normalizer and states`,
      );
    training.moments[part].set(saved);
  }
  training.moments.count = state.momentsCount;
  refreshStates(training);
  training.iteration = state.iteration;
  for (const [index, member] of training.members.entries()) {
    const saved = state.members[index];
    member.random = Random.fromState(saved.random);
    Object.assign(member.environmentState, saved.environment);
    member.environmentState.order = integers(path, arrays, `member${index}/environment`);
    Object.assign(member.runningReturn, saved.runningReturn);
    for (const [set, stream] of member.streams.entries()) {
      stream.order = integers(path, arrays, `member${index}/stream${set}`);
      stream.position = saved.streamPositions[set];
    }
  }
}

/** A trained policy alone, for evaluation. The caller disposes the parameters. */
export function loadStopPolicy(
  path: string,
  stateIdentity: string,
): { parameters: Tensors<'w1' | 'b1' | 'w2' | 'b2' | 'w3' | 'b3'>; moments: Moments; iteration: number } {
  const { arrays, state } = loadCheckpoint(path, { kind, formatVersion, stateSchema });
  checkIdentity(path, state.stateIdentity, stateIdentity);
  const tensor = (name: string) => readTensor(path, arrays, `agent/parameters/${name}`);
  return {
    parameters: {
      w1: tensor('w1'),
      b1: tensor('b1'),
      w2: tensor('w2'),
      b2: tensor('b2'),
      w3: tensor('w3'),
      b3: tensor('b3'),
    },
    moments: {
      mean: floats64(path, arrays, 'normalizer/mean'),
      variance: floats64(path, arrays, 'normalizer/variance'),
      count: state.momentsCount,
    },
    iteration: state.iteration,
  };
}

function checkIdentity(path: string, saved: string, wanted: string): void {
  if (saved !== wanted)
    throw new InputError(
      `${path} was trained on states made by ${saved}, and these are made by ${wanted}; use the same encoder and state options`,
    );
}

const parts = ['parameters', 'firstMoments', 'secondMoments'] as const;

function optimizedArrays(owner: string, optimized: Optimized): Record<string, Arrays[string]> {
  const entries = parts.flatMap((part) =>
    Object.entries(optimized[part]).map(([name, tensor]) => {
      const data = tensor.dataSync() as Float32Array;
      return [`${owner}/${part}/${name}`, { shape: tensor.shape, data }] as const;
    }),
  );
  return Object.fromEntries(entries);
}

function restoreOptimized<Name extends string>(
  path: string,
  arrays: Arrays,
  target: { name: string; optimized: Optimized<Name>; updates: number },
): void {
  for (const part of parts) {
    const tensors = target.optimized[part];
    for (const name of namesOf(tensors)) {
      const full = `${target.name}/${part}/${name}`;
      const restored = readTensor(path, arrays, full);
      const expected = tensors[name].shape.join(' × ');
      if (restored.shape.join(' × ') !== expected) {
        restored.dispose();
        throw new InputError(`${path}: ${full} is ${restored.shape.join(' × ')}, and ${expected} is needed`);
      }
      tensors[name].dispose();
      tensors[name] = restored;
    }
  }
  target.optimized.updates = target.updates;
}

function readTensor(path: string, arrays: Arrays, name: string): tf.Tensor3D {
  const array = arrays[name];
  if (!(array?.data instanceof Float32Array) || array.shape.length !== 3)
    throw new InputError(`${path} lacks the tensor ${name}; it is not a whole checkpoint of a stop agent`);
  return tf.tensor3d(array.data, [array.shape[0], array.shape[1], array.shape[2]]);
}

function floats64(path: string, arrays: Arrays, name: string): Float64Array {
  const data = arrays[name]?.data;
  if (!(data instanceof Float64Array)) throw new InputError(`${path} lacks ${name}; it is not a whole checkpoint`);
  return data;
}

function integers(path: string, arrays: Arrays, name: string): Int32Array {
  const data = arrays[name]?.data;
  if (!(data instanceof Int32Array)) throw new InputError(`${path} lacks ${name}; it is not a whole checkpoint`);
  return data;
}
