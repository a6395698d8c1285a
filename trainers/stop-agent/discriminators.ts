import type { ExpertName } from '../../experts/trajectories.ts';
import type { DiscriminatorHealth } from '../discriminator-health.ts';
import { type GailConfig, type GailMember, rewardsOf } from '../gail.ts';

/*
 * A member has one discriminator of all experts (EARD, Eq. 3) or one of each (Eq. 1 and 2). All of a population stand in one list,
 * member after member, as many of each: this file spreads what a member has over its discriminators and gathers what they say.
 */

/** What each discriminator of a member tells from the agent: indices of its experts. */
function discriminatorTasks(config: Pick<GailConfig, 'objective'>, experts: readonly ExpertName[]): number[][] {
  const all = [...experts.keys()];
  return config.objective === 'shared' ? [all] : all.map((expert) => [expert]);
}

/** Each member's discriminators in turn. Their streams and random numbers are the member's own. */
export function discriminatorMembers(members: readonly GailMember[]): GailMember[] {
  return members.flatMap(({ config, random, experts, streams }) =>
    discriminatorTasks(config, experts).map((told) => ({
      config,
      random,
      experts: told.map((set) => experts[set]),
      streams: told.map((set) => streams[set]),
    })),
  );
}

/** What each member has, once for each of its discriminators. */
export function perDiscriminator<T>(members: readonly GailMember[], values: readonly T[]): T[] {
  return members.flatMap(({ config, experts }, member) =>
    discriminatorTasks(config, experts).map(() => values[member]),
  );
}

/** What the discriminators of each member have, [members][discriminators]. */
export function byMember<T>(members: readonly GailMember[], values: readonly T[]): T[][] {
  const each = values.length / members.length;
  return members.map((_, member) => values.slice(member * each, (member + 1) * each));
}

/** The parts of one member's reward, [steps] each, from the logits of its discriminators. */
export interface MemberRewards {
  /** The logit, or Σ w logit over the experts. */
  readonly logits: Float32Array;
  /** r, or Σ w r, with w = α, β and −γ over α + β − γ. */
  readonly rewards: Float32Array;
}

export function memberRewards(
  { config, experts, streams }: GailMember,
  logits: readonly Float32Array[],
): MemberRewards {
  if (config.objective === 'shared') return { logits: logits[0], rewards: rewardsOf(logits[0], config.reward) };
  const { alpha, beta, gamma } = config;
  const signed = { conservative: alpha, earlyAction: beta, misleading: -gamma };
  const weights = experts.map((expert, set) => (streams[set] === null ? 0 : signed[expert] / (alpha + beta - gamma)));
  const summed = (values: readonly Float32Array[]) =>
    values[0].map((_, step) => weights.reduce((sum, weight, set) => sum + weight * values[set][step], 0));
  return { logits: summed(logits), rewards: summed(logits.map((own) => rewardsOf(own, config.reward))) };
}

/** One member's discriminators as one: the mean of what they say of the agent, the sum of the penalties. */
export function memberHealth(own: readonly DiscriminatorHealth[]): DiscriminatorHealth {
  // A discriminator of an expert that only other members have learns nothing.
  const used = own.filter(({ saysExpert }) => saysExpert.some((share) => share !== null));
  const penalties = used.flatMap(({ penalty }) => penalty ?? []);
  return {
    agent: used.reduce((sum, { agent }) => sum + agent, 0) / used.length,
    saysExpert: own.flatMap(({ saysExpert }) => saysExpert),
    penalty: penalties.length === 0 ? null : penalties.reduce((sum, penalty) => sum + penalty, 0),
  };
}
