import { z } from 'zod';
import type { NamedArray } from '../../checkpoints/tensor-file.ts';
import { expertNames } from '../../experts/trajectories.ts';
import { Random } from '../../src/tensor/random.ts';
import type { Discriminator } from '../discriminator.ts';
import type { GailTraining } from '../gail.ts';
import { arrayOf, type TrainerState, valuesOf } from '../trainer.ts';
import { learnerArrays, networkArrays, restoreNetwork } from './network-state.ts';
import type { StopLearner } from './setup.ts';

const valuesSchema = z.strictObject({
  iteration: z.int(),
  updates: z.strictObject({ agent: z.int(), discriminators: z.array(z.int()) }),
  random: z.array(z.int()),
  environment: z.strictObject({ position: z.int(), step: z.int(), previous: z.int(), stopped: z.boolean() }),
  runningReturn: z.strictObject({
    discountedSum: z.number(),
    mean: z.number(),
    variance: z.number(),
    count: z.number(),
  }),
  /** Of the experts' pairs, by the expert's name. */
  positions: z.record(z.string(), z.int()),
});
type Values = z.infer<typeof valuesSchema>;

/** The discriminators by their names in a checkpoint. */
function named({ config, discriminators }: GailTraining): { name: string; discriminator: Discriminator }[] {
  return discriminators.map((discriminator, place) => ({
    name: config.objective === 'shared' ? 'discriminator' : `discriminator/${expertNames[place]}`,
    discriminator,
  }));
}

/** Weights, moments, normaliser, random streams, environment: everything to go on bit for bit. */
export async function imitationState(training: GailTraining, learner: StopLearner): Promise<TrainerState> {
  const { agent, discriminators, iteration, environmentState, runningReturn, random } = training;
  const { order, position, step, previous, stopped } = environmentState;
  const experts = discriminators.flatMap((discriminator) => discriminator.experts);
  const arrays: Record<string, NamedArray> = {
    ...(await learnerArrays(learner)),
    environment: { shape: [order.length], data: order.slice() },
  };
  for (const { name, discriminator } of named(training))
    Object.assign(arrays, await networkArrays(name, discriminator));
  for (const { name, order: pairs } of experts)
    arrays[`pairs/${name}`] = { shape: [pairs.length], data: pairs.slice() };
  const values: Values = {
    iteration,
    updates: { agent: agent.updates, discriminators: discriminators.map(({ updates }) => updates) },
    random: random.state(),
    environment: { position, step, previous, stopped },
    runningReturn: { ...runningReturn },
    positions: Object.fromEntries(experts.map((expert) => [expert.name, expert.position])),
  };
  return { arrays, values };
}

export function restoreImitation(training: GailTraining, saved: TrainerState): void {
  const { agent, environmentState, runningReturn } = training;
  const { arrays } = saved;
  const values = valuesOf(saved, valuesSchema);
  restoreNetwork(saved, { network: agent, updates: values.updates.agent });
  for (const [place, { name, discriminator }] of named(training).entries()) {
    restoreNetwork(saved, { name, network: discriminator, updates: values.updates.discriminators[place] });
    for (const expert of discriminator.experts) {
      expert.order = arrayOf(arrays, `pairs/${expert.name}`, { kind: Int32Array }).slice();
      expert.position = values.positions[expert.name];
    }
  }
  training.iteration = values.iteration;
  training.random = Random.fromState(values.random);
  Object.assign(environmentState, values.environment, {
    order: arrayOf(arrays, 'environment', { kind: Int32Array }).slice(),
  });
  Object.assign(runningReturn, values.runningReturn);
}
