import * as tf from '@tensorflow/tfjs-core';
import type { DiscriminatorSeen } from './discriminator.ts';

/* What a discriminator said of pairs before its updates, for the log. */

/** How well the discriminator tells a member's pairs apart, before its updates of the last epoch. */
export interface DiscriminatorHealth {
  /** Share of the agent's steps that it took for the agent's. */
  readonly agent: number;
  /** Share of each expert's pairs that it took for an expert's; null where the member has none. */
  readonly saysExpert: readonly (number | null)[];
  /** The gradient penalty as it stands in the loss, its weight included; null where the member has none. */
  readonly penalty: number | null;
}

/** What is read of a member of GAIL. */
interface Member {
  readonly config: { readonly discriminator: { readonly batchSize: number; readonly penalty: number } };
  /** One for each expert; null where the member has none of it. */
  readonly streams: readonly (object | null)[];
}

export function disposeSeen(seen: readonly DiscriminatorSeen[]): void {
  for (const { logits, penalty } of seen) tf.dispose([logits, penalty ?? []]);
}

/** Each member's mean over the updates; null for a member without a penalty. */
export async function meanPenalties(
  members: readonly Pick<Member, 'config'>[],
  seen: readonly DiscriminatorSeen[],
): Promise<(number | null)[]> {
  const sums = members.map(() => 0);
  for (const { penalty } of seen) {
    const values = (await penalty?.data()) ?? [];
    for (const [member, value] of values.entries()) sums[member] += value;
  }
  // In a population, the others' penalty is computed for a member that has none, with weight 0.
  return members.map(({ config }, member) => (config.discriminator.penalty === 0 ? null : sums[member] / seen.length));
}

/** Counts the positive logits of each set of rows. */
export async function accuraciesOf(
  members: readonly Member[],
  minibatches: readonly tf.Tensor3D[],
): Promise<Omit<DiscriminatorHealth, 'penalty'>[]> {
  const { batchSize } = members[0].config.discriminator;
  const sets = 1 + members[0].streams.length;
  const saysExpert = members.map(() => new Float64Array(sets));
  for (const logits of minibatches) {
    const values = await logits.data();
    for (const [row, value] of values.entries()) {
      const set = Math.floor(row / batchSize);
      if (value > 0) saysExpert[Math.floor(set / sets)][set % sets]++;
    }
  }
  const pairs = minibatches.length * batchSize;
  return members.map(({ streams }, member) => ({
    agent: 1 - saysExpert[member][0] / pairs,
    saysExpert: streams.map((stream, set) => (stream === null ? null : saysExpert[member][set + 1] / pairs)),
  }));
}
