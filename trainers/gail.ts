import type { StopEnvOptions, StopEnvState } from '../envs/stop-env.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';
import type { GailConfig, PpoConfig } from './config.ts';
import { type Discriminator, type DiscriminatorOutcome, updateDiscriminators } from './discriminator.ts';
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

/** Inputs and state of the algorithm. */
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

/** Results of an iteration, for the log. */
export interface GailIteration {
  readonly steps: EstimatedSteps;
  readonly outcomes: readonly DiscriminatorOutcome[];
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
    const outcomes = await updateDiscriminators(discriminators, collected, {
      states,
      config: config.discriminator,
      epochs: iteration < warmupIterations ? warmupEpochs : epochs,
      random,
    });

    // 3: the rewards.
    const logits = weightedSum(outcomes, (outcome) => outcome.logits);
    const unscaled = weightedSum(outcomes, (outcome) => rewardsOf(outcome.logits, config.reward));
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
    yield { steps, outcomes, after, expectedReturn };
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
  outcomes: readonly Pick<DiscriminatorOutcome, 'rewardWeight' | 'logits'>[],
  valuesOf: (outcome: Pick<DiscriminatorOutcome, 'rewardWeight' | 'logits'>) => Float32Array,
): Float32Array {
  const sums = new Float64Array(outcomes[0].logits.length);
  for (const outcome of outcomes) {
    const values = valuesOf(outcome);
    for (let step = 0; step < sums.length; step++) sums[step] += outcome.rewardWeight * values[step];
  }
  return new Float32Array(sums);
}
