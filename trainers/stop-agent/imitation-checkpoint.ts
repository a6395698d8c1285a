import { z } from 'zod';
import type { NamedArray } from '../../checkpoints/tensor-file.ts';
import { Random } from '../../src/tensor/random.ts';
import { type MemberState, valuesOf } from '../trainer.ts';
import type { Imitation } from './imitation-state.ts';
import { checkMembers, integers, momentsArrays, networkArrays, restoreNetwork, sameForAll } from './network-state.ts';

const valuesSchema = z.strictObject({
  iteration: z.int(),
  updates: z.strictObject({ agent: z.int(), discriminator: z.int() }),
  random: z.array(z.int()),
  environment: z.strictObject({ position: z.int(), step: z.int(), previous: z.int(), stopped: z.boolean() }),
  runningReturn: z.strictObject({
    discountedSum: z.number(),
    mean: z.number(),
    variance: z.number(),
    count: z.number(),
  }),
  /** Position in each expert's stream; null where the member has no such demonstration. */
  streamPositions: z.array(z.int().nullable()),
});
type Values = z.infer<typeof valuesSchema>;

/** What a member's discriminators are called in its checkpoint. */
function discriminatorNames({ members, experts }: Imitation): string[] {
  const { objective } = members[0].config;
  return objective === 'shared' ? ['discriminator'] : experts.map((expert) => `discriminator/${expert}`);
}

/** Weights, moments, normaliser, random streams, environments: everything to go on bit for bit, one state a member. */
export async function imitationStates(training: Imitation): Promise<MemberState[]> {
  const { learner, members, discriminator, experts, iteration } = training;
  const agentArrays = await networkArrays(['agent'], learner.agent);
  const discriminatorArrays = await networkArrays(discriminatorNames(training), discriminator);
  return members.map((member, index) => {
    const { environmentState, streams, runningReturn, random } = member;
    const { moments } = learner.members[index];
    const { order, position, step, previous, stopped } = environmentState;
    const arrays: Record<string, NamedArray> = {
      ...agentArrays[index],
      ...discriminatorArrays[index],
      ...momentsArrays(moments),
      environment: { shape: [order.length], data: order.slice() },
    };
    for (const [set, stream] of streams.entries())
      if (stream !== null)
        arrays[`stream/${experts[set]}`] = { shape: [stream.order.length], data: stream.order.slice() };
    const values: Values = {
      iteration,
      updates: { agent: learner.agent.updates, discriminator: discriminator.updates },
      random: random.state(),
      environment: { position, step, previous, stopped },
      runningReturn: { ...runningReturn },
      streamPositions: streams.map((stream) => stream?.position ?? null),
    };
    return { arrays, values };
  });
}

export function restoreImitation(training: Imitation, states: readonly MemberState[]): void {
  const { learner, members, discriminator, experts } = training;
  checkMembers(states, members);
  const saved = states.map((state) => ({ arrays: state.arrays, values: valuesOf(state, valuesSchema) }));
  restoreNetwork(saved, {
    names: ['agent'],
    network: learner.agent,
    updates: saved.map(({ values }) => values.updates.agent),
  });
  restoreNetwork(saved, {
    names: discriminatorNames(training),
    network: discriminator,
    updates: saved.map(({ values }) => values.updates.discriminator),
  });
  training.iteration = sameForAll(
    saved.map(({ values }) => values.iteration),
    'iterations',
  );
  for (const [index, member] of members.entries()) {
    const { arrays, values } = saved[index];
    member.random = Random.fromState(values.random);
    Object.assign(member.environmentState, values.environment);
    member.environmentState.order = integers(arrays, 'environment').slice();
    Object.assign(member.runningReturn, values.runningReturn);
    for (const [set, stream] of member.streams.entries()) {
      if (stream === null) continue;
      stream.order = integers(arrays, `stream/${experts[set]}`).slice();
      stream.position = values.streamPositions[set] ?? 0;
    }
  }
}
