import { z } from 'zod';
import type { NamedArray, NamedArrays } from '../../checkpoints/tensor-file.ts';
import type { TaskModelState } from '../../experts/task-models/task-model.ts';
import { Random } from '../../src/tensor/random.ts';
import { arrayOf, type TrainerState, valuesOf } from '../trainer.ts';
import { levels, type SelectorTraining } from './setup.ts';

const levelSchema = z.strictObject({
  updates: z.int(),
  rewards: z.strictObject({ mean: z.number(), count: z.int(), recent: z.array(z.number()) }),
});
const stratumSchema = z.strictObject({ shown: z.int(), retained: z.int() });
const valuesSchema = z.strictObject({
  epoch: z.int(),
  isTerminated: z.boolean(),
  fullRewards: z.int(),
  retention: z.array(z.strictObject({ posts: z.array(stratumSchema), claims: z.array(stratumSchema) })),
  random: z.array(z.int()),
  levels: z.strictObject({ posts: levelSchema, claims: levelSchema }),
  models: z.strictObject({ stance: z.unknown(), veracity: z.unknown() }),
});
type Values = z.output<typeof valuesSchema>;

const parts = ['parameters', 'firstMoments', 'secondMoments'] as const;
const modelNames = ['stance', 'veracity'] as const;

/** Everything to go on bit for bit: both policies with their moments, both task models, the random stream. */
export function selectorState(training: SelectorTraining): TrainerState {
  const arrays: Record<string, NamedArray> = {};
  for (const level of levels)
    for (const part of parts) {
      const data = training.policies[level][part].slice();
      arrays[`${level}/${part}`] = { shape: [data.length], data };
    }
  const models = { stance: training.settings.stanceModel.state(), veracity: training.settings.veracityModel.state() };
  for (const model of modelNames)
    for (const [name, array] of Object.entries(models[model].arrays)) arrays[`${model}/${name}`] = array;
  const ofLevel = (level: (typeof levels)[number]) => ({
    updates: training.policies[level].updates,
    rewards: structuredClone(training.rewards[level]),
  });
  const values: Values = {
    epoch: training.epoch,
    isTerminated: training.isTerminated,
    fullRewards: training.fullRewards,
    retention: structuredClone(
      training.retention.map(({ posts, claims }) => ({ posts: [...posts], claims: [...claims] })),
    ),
    random: training.random.state(),
    levels: { posts: ofLevel('posts'), claims: ofLevel('claims') },
    models: { stance: models.stance.json, veracity: models.veracity.json },
  };
  return { arrays, values };
}

/**
 * Puts a freshly created training where the state was taken.
 * @throws InputError when the state is of other policies
 */
export function restoreSelector(training: SelectorTraining, state: TrainerState): void {
  const { arrays } = state;
  const values = valuesOf(state, valuesSchema);
  for (const level of levels) {
    const policy = training.policies[level];
    for (const part of parts) {
      const shape = [policy[part].length];
      policy[part].set(arrayOf(arrays, `${level}/${part}`, { kind: Float64Array, shape }));
    }
    policy.updates = values.levels[level].updates;
    Object.assign(training.rewards[level], values.levels[level].rewards);
  }
  const { stanceModel, veracityModel } = training.settings;
  stanceModel.restore(modelState(arrays, 'stance', values.models.stance));
  veracityModel.restore(modelState(arrays, 'veracity', values.models.veracity));
  training.random = Random.fromState(values.random);
  training.epoch = values.epoch;
  training.isTerminated = values.isTerminated;
  training.fullRewards = values.fullRewards;
  training.retention.splice(0, Number.POSITIVE_INFINITY, ...values.retention);
}

function modelState(arrays: NamedArrays, model: (typeof modelNames)[number], json: unknown): TaskModelState {
  const parts = Object.entries(arrays).flatMap(([name, { shape, data }]) =>
    name.startsWith(`${model}/`) && !(data instanceof Uint8Array)
      ? [[name.slice(model.length + 1), { shape, data }] as const]
      : [],
  );
  return { arrays: Object.fromEntries(parts), json };
}
