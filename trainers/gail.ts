import type { StopEnvOptions, StopEnvState } from '../envs/stop-env.ts';
import { type ExpertName, expertNames } from '../experts/trajectories.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';
import type { GailConfig, PpoConfig } from './config.ts';
import {
  type Discriminated,
  type Discriminator,
  type DiscriminatorTask,
  type Pairs,
  updateDiscriminators,
} from './discriminator.ts';
import type { LabelledBatch } from './exact-policy-gradient.ts';
import { generalizedAdvantages, type RunningReturn, scaleRewards } from './gae.ts';
import type { PolicyValue, RowScores } from './policy-value.ts';
import { ppoUpdate } from './ppo.ts';
import { type Collected, collect } from './rollout.ts';

/*
 * GAIL (Ho & Ermon 2016) with the three experts of EARD (Eq. 3, 4): α pulls towards the conservative expert (CE), β
 * towards the early-action expert (EAE), γ pushes away from the misleading one (ME).
 *
 *   symbol      paper                                here
 *   D           1 for the agent, 0 for experts       logits are high for experts (D̃ = 1 − D), as in the authors' code
 *   r           −log D = softplus of our logit       `reward: logit`, logit(D̃), as in the authors' code; `minus-log-d` is the
 *                                                    paper's. It is never negative, which would reward episodes that are long
 *   r           as it is                             over the running deviation of its discounted sum (gae.ts), as in the authors'
 *                                                    code, −log D too; `rewardScale: none` is the paper's
 *   D           Eq. 1 and 2: one for each expert     `objective: shared` is one for all of them, Eq. 3 and the authors' code;
 *                                                    `separate` is one for each, with the reward α r_c + β r_e − γ r_m
 *   −γ E_ME     subtracted: unbounded below          `misleading: subtract` is that; `as-agent` gives ME pairs the
 *                                                    agent's label, the same direction with a bounded loss
 *   penalty     not in the paper; in the code        (‖∂logit/∂[s; a]‖ − 1)² at mixtures of expert and agent pairs
 *
 * Eq. 3 is not Eq. 1 with Eq. 2 put in. There each divergence has a discriminator of its own, and −γ max_D is not max_D of −γ(…):
 * Eq. 1 asks the agent to be unlike ρ_m, while one discriminator takes γ ρ_m out of the mixture that the agent is to be like. Where
 * a shared discriminator has nothing left to tell, ρ = (α ρ_c + β ρ_e − γ ρ_m) / (α + β − γ). With one for each the reward is
 * α ln(ρ_c / ρ) + β ln(ρ_e / ρ) − γ ln(ρ_m / ρ) there, and no mixture but a product of the experts is where it is the same
 * everywhere: ρ ∝ (ρ_c^α ρ_e^β ρ_m^−γ)^(1 / (α + β − γ)).
 */

/** What the algorithm reads and moves on. */
export interface GailTraining {
  readonly config: GailConfig & { readonly ppo: PpoConfig };
  readonly iterations: number;
  readonly states: RowTable;
  readonly environment: StopEnvOptions;
  readonly environmentState: StopEnvState;
  /** Policy and value. */
  readonly agent: PolicyValue;
  readonly discriminators: readonly Discriminator[];
  readonly runningReturn: RunningReturn;
  /** The task's own return, which the policy climbs as well; null for the paper. */
  readonly task: LabelledBatch | null;
  random: Random;
  iteration: number;
}

/** What an iteration did, for the log. */
export interface GailIteration {
  readonly steps: EstimatedSteps;
  readonly discriminated: readonly Discriminated[];
  /** The steps' scores after the update. */
  readonly after: RowScores;
  readonly expectedReturn: number | null;
}

/** Steps with what each earned, [steps] each. */
export interface EstimatedSteps extends Collected {
  /** Of the discriminators, high for experts, and the rewards made of them, scaled. */
  readonly logits: Float32Array;
  readonly rewards: Float32Array;
  readonly advantages: Float32Array;
  readonly returns: Float32Array;
}

/** EARD's Algorithm 1, by its lines: yields after each iteration. Training that was restored goes on from where it was. */
export async function* gail(training: GailTraining): AsyncGenerator<GailIteration, void> {
  const { config, iterations, states, environment, environmentState, agent, discriminators, task } = training;
  const { discount, gaeLambda: lambda, stepsPerIteration } = config.ppo;
  const { epochs, warmupEpochs, warmupIterations } = config.discriminator;
  while (training.iteration < iterations) {
    const { random, runningReturn, iteration } = training;

    // 2 and 4: run the policy for K steps, and compute V of their states.
    const collected = await collect(agent, { states, environment, environmentState, steps: stepsPerIteration, random });
    const { ends, values, nextValue } = collected;

    // 8, before the rewards as in the published code: the discriminators learn to tell these steps from the experts'.
    const discriminated = await updateDiscriminators(discriminators, collected, {
      states,
      config: config.discriminator,
      epochs: iteration < warmupIterations ? warmupEpochs : epochs,
      random,
    });

    // 3: the rewards.
    const logits = weightedSum(discriminated, (own) => own.logits);
    const unscaled = weightedSum(discriminated, (own) => rewardsOf(own.logits, config.reward));
    const rewards =
      config.rewardScale === 'none' ? unscaled : scaleRewards(runningReturn, { rewards: unscaled, ends, discount });

    // 5: advantages, and the returns that the value is fitted to.
    const estimates = generalizedAdvantages({ rewards, values, ends, bootstrapValue: nextValue, discount, lambda });
    const steps = { ...collected, ...estimates, logits, rewards };

    // 6 and 7: update policy and value, by the task's gradient as well where it has a weight.
    const { after, expectedReturn } = await ppoUpdate(agent, steps, {
      config: config.ppo,
      states,
      random,
      remaining: 1 - iteration / iterations,
      task,
    });
    training.iteration++;
    yield { steps, discriminated, after, expectedReturn };
  }
}

/** r of steps from the discriminator's logits, high for experts; [steps]. */
export function rewardsOf(logits: Float32Array, reward: GailConfig['reward']): Float32Array {
  // −log D = −log σ(−l) = log(1 + eˡ), and eˡ may not overflow.
  return reward === 'logit'
    ? logits
    : logits.map((logit) => Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit))));
}

/** Σ w x over the discriminators, [steps]: with one for each expert, w is α, β or −γ over α + β − γ. */
export function weightedSum(
  discriminated: readonly Pick<Discriminated, 'rewardWeight' | 'logits'>[],
  valuesOf: (own: Pick<Discriminated, 'rewardWeight' | 'logits'>) => Float32Array,
): Float32Array {
  const parts = discriminated.map((own) => ({ weight: own.rewardWeight, values: valuesOf(own) }));
  return parts[0].values.map((_, step) => parts.reduce((sum, { weight, values }) => sum + weight * values[step], 0));
}

type ExpertRatio = Pick<GailConfig, 'alpha' | 'beta' | 'gamma'>;

/**
 * What each divergence of Eq. 1 counts, by the experts that there are; 0 for the others.
 *
 * Wherever there is a conservative trajectory there is an early-action one. None are left where each was the conservative one again
 * (trajectories.keepEarlyAction), so that ρ_e is ρ_c, which then has the weight of both.
 */
export function signedWeights({ alpha, beta, gamma }: ExpertRatio, present: readonly ExpertName[]) {
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
 * What discriminators there are, and what they tell apart: one of all experts (Eq. 3), whose weights are over the agent's, so that this
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
