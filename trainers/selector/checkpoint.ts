import { z } from 'zod';
import { type Checkpoint, loadCheckpoint, saveCheckpoint } from '../../checkpoints/checkpoint.ts';
import type { TaskModelState } from '../../experts/task-models/task-model.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import { levels, type SelectorTraining } from './setup.ts';

const kind = 'jsdrv';
const formatVersion = 1;

const levelSchema = z.strictObject({
  updates: z.int(),
  rewards: z.strictObject({ mean: z.number(), count: z.int(), recent: z.array(z.number()) }),
});
const stateSchema = z.strictObject({
  epoch: z.int(),
  isTerminated: z.boolean(),
  fullRewards: z.int(),
  retainedCounts: z.array(z.strictObject({ posts: z.int(), claims: z.int() })),
  random: z.array(z.int()),
  levels: z.strictObject({ posts: levelSchema, claims: levelSchema }),
  /** What states and task models are made of: a policy means nothing on others. */
  identity: z.string(),
  models: z.strictObject({ stance: z.unknown(), veracity: z.unknown() }),
});
type State = z.output<typeof stateSchema>;
type Arrays = Checkpoint<State>['arrays'];

const parts = ['parameters', 'firstMoments', 'secondMoments'] as const;
const modelNames = ['stance', 'veracity'] as const;

/** Everything a training needs to go on bit for bit: both policies with their moments, both task models, the random stream. */
export function saveSelector(path: string, training: SelectorTraining, identity: string): void {
  const arrays: Record<string, Arrays[string]> = {};
  for (const level of levels)
    for (const part of parts) {
      const data = training.policies[level][part];
      arrays[`${level}/${part}`] = { shape: [data.length], data };
    }
  const models = { stance: training.settings.stanceModel.state(), veracity: training.settings.veracityModel.state() };
  for (const model of modelNames)
    for (const [name, array] of Object.entries(models[model].arrays)) arrays[`${model}/${name}`] = array;
  const ofLevel = (level: (typeof levels)[number]) => ({
    updates: training.policies[level].updates,
    rewards: training.rewards[level],
  });
  const state: State = {
    epoch: training.epoch,
    isTerminated: training.isTerminated,
    fullRewards: training.fullRewards,
    retainedCounts: [...training.retainedCounts],
    random: training.random.state(),
    levels: { posts: ofLevel('posts'), claims: ofLevel('claims') },
    identity,
    models: { stance: models.stance.json, veracity: models.veracity.json },
  };
  saveCheckpoint(path, { kind, formatVersion, arrays, state });
}

/**
 * Puts a freshly created training where the checkpoint left off.
 * @throws InputError when the checkpoint is of other states or task models
 */
export function restoreSelector(path: string, training: SelectorTraining, identity: string): void {
  const { arrays, state } = loadCheckpoint(path, { kind, formatVersion, stateSchema });
  if (state.identity !== identity)
    throw new InputError(
      `${path} was trained with ${state.identity}, and this is ${identity}; use the same encoder, task models and selector`,
    );
  for (const level of levels) {
    const policy = training.policies[level];
    for (const part of parts) policy[part].set(floats64(path, arrays, `${level}/${part}`, policy[part].length));
    policy.updates = state.levels[level].updates;
    Object.assign(training.rewards[level], state.levels[level].rewards);
  }
  const { stanceModel, veracityModel } = training.settings;
  stanceModel.restore(modelState(arrays, 'stance', state.models.stance));
  veracityModel.restore(modelState(arrays, 'veracity', state.models.veracity));
  training.random = Random.fromState(state.random);
  training.epoch = state.epoch;
  training.isTerminated = state.isTerminated;
  training.fullRewards = state.fullRewards;
  training.retainedCounts.splice(0, Number.POSITIVE_INFINITY, ...state.retainedCounts);
}

function modelState(arrays: Arrays, model: (typeof modelNames)[number], json: unknown): TaskModelState {
  const own = Object.entries(arrays).flatMap(([name, { shape, data }]) =>
    name.startsWith(`${model}/`) && !(data instanceof Uint8Array)
      ? [[name.slice(model.length + 1), { shape, data }] as const]
      : [],
  );
  return { arrays: Object.fromEntries(own), json };
}

function floats64(path: string, arrays: Arrays, name: string, length: number): Float64Array {
  const data = arrays[name]?.data;
  if (!(data instanceof Float64Array) || data.length !== length)
    throw new InputError(
      `${path}: ${name} has ${data?.length ?? 'no'} entries, and ${length} are needed; use the same encoder and selector options`,
    );
  return data;
}
