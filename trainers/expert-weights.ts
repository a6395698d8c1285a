import { type ExpertName, expertNames } from '../experts/trajectories.ts';
import type { GailConfig } from './config.ts';
import type { DiscriminatorTask, Pairs } from './discriminator.ts';

/* What the experts of EARD count in GAIL (gail.ts), by their weights and by which of them have demonstrations. */

type ExpertRatio = Pick<GailConfig, 'alpha' | 'beta' | 'gamma'>;

/**
 * Weights of the divergences of Eq. 1, for the experts that are present; 0 for the others.
 *
 * Wherever there is a conservative trajectory there is an early-action one. None are left where each was the conservative one again
 * (trajectories.keepEarlyAction), so that ρ_e is ρ_c, which then has the weight of both.
 */
function signedWeights({ alpha, beta, gamma }: ExpertRatio, present: readonly ExpertName[]) {
  const [conservative, earlyAction, misleading] = expertNames.map((name) => present.includes(name));
  return {
    conservative: conservative ? alpha + (earlyAction ? 0 : beta) : 0,
    earlyAction: earlyAction ? beta : 0,
    misleading: misleading ? -gamma : 0,
  };
}

/**
 * The agent's weight in Eq. 3: α + β − γ, less the weights of experts without demonstrations. Each divergence of Eq. 1 brings the
 * agent's term once, and one from nothing has none. If it still counted, the logit would not be 0 where the agent is like the
 * other experts: without ME it would be ln((α + β) / (α + β − γ)), by default 0.194, which pays for every step.
 */
export function agentWeight(config: ExpertRatio, present: readonly ExpertName[]): number {
  return Object.values(signedWeights(config, present)).reduce((sum, weight) => sum + weight, 0);
}

/**
 * The discriminators and their tasks: one of all experts (Eq. 3), whose weights are over the agent's, so that this
 * is 1; or one of each (Eq. 1 and 2), with weights of 1. In that case an expert without demonstrations has one, too, which stays as it is:
 * so the random numbers of the others do not depend on it.
 */
export function discriminatorTasks(
  config: Pick<GailConfig, 'objective' | 'misleading'> & ExpertRatio,
  pairsOf: Readonly<Record<ExpertName, Pairs>>,
): DiscriminatorTask[] {
  const present = expertNames.filter((name) => pairsOf[name].rows.length > 0);
  const weights = signedWeights(config, present);
  const ofAgent = agentWeight(config, present);
  const stream = (name: ExpertName) => ({ name, pairs: pairsOf[name], order: new Int32Array(0), position: 0 });
  if (config.objective === 'separate')
    return expertNames.map((name) => ({
      experts: present.includes(name) ? [{ ...stream(name), labelExpertIsOne: 1, weight: 1 }] : [],
      rewardWeight: weights[name] / ofAgent,
    }));
  const experts = present.map((name) => {
    const share = Math.abs(weights[name]) / ofAgent;
    const isSubtracted = name === 'misleading' && config.misleading === 'subtract';
    const hasAgentsLabel = name === 'misleading' && config.misleading === 'as-agent';
    return { ...stream(name), labelExpertIsOne: Number(!hasAgentsLabel), weight: isSubtracted ? -share : share };
  });
  return [{ experts, rewardWeight: 1 }];
}
