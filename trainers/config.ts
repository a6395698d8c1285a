import { z } from 'zod';

/*
 * The options of the algorithms in this folder; trainers/stop-agent/config.ts puts them together and says where each default is from.
 */

/** PPO's. */
export const ppoSchema = z.strictObject({
  stepsPerIteration: z.int().min(1).default(200).describe('environment steps collected before each update'),
  epochs: z.int().min(1).default(4).describe('passes over the collected steps'),
  minibatches: z.int().min(1).default(4).describe('minibatches an epoch'),
  clip: z
    .number()
    .positive()
    .default(0.1)
    .describe('range of the probability ratio and of the value change; the value range depends on the reward scale'),
  entropyCoefficient: z.number().min(0).default(0.01).describe('weight of the entropy bonus'),
  valueCoefficient: z.number().min(0).default(0.5).describe('weight of the value loss'),
  maxGradientNorm: z.number().positive().default(0.5).describe('global norm that the gradient is clipped to'),
  learningRate: z.number().positive().default(3e-4).describe('of Adam'),
  learningRateDecay: z.enum(['linear', 'none']).default('linear').describe('linear: to 0 at the last iteration'),
  discount: z.number().min(0).max(1).default(0.99).describe('γ: what a reward one step later is worth'),
  gaeLambda: z.number().min(0).max(1).default(0.97).describe('λ of generalised advantage estimation'),
  advantages: z
    .enum(['per-minibatch', 'none'])
    .default('per-minibatch')
    .describe('per-minibatch: standardised over the steps of each minibatch; none: Eq. 5 as it stands'),
  valueLoss: z
    .enum(['clipped', 'squared'])
    .default('clipped')
    .describe(
      'of the value network: clipped, the larger of the squared errors with and without a clipped change of the value, as in the published code; squared, Eq. 6 as it stands',
    ),
});
export type PpoConfig = z.infer<typeof ppoSchema>;

/** GAIL's. */
export const gailOptions = {
  alpha: z.number().min(0).default(0.7).describe('weight of the conservative expert'),
  beta: z.number().min(0).default(0.15).describe('weight of the early-action expert'),
  gamma: z.number().min(0).default(0.15).describe('weight of the misleading expert'),
  objective: z
    .enum(['shared', 'separate'])
    .default('shared')
    .describe(
      'discriminators: shared, one for all experts (Eq. 3); separate, one for each, whose rewards are added with α, β and −γ (Eq. 1 and 2). With separate, misleading is not read',
    ),
  misleading: z
    .enum(['as-agent', 'subtract'])
    .default('as-agent')
    .describe(
      "how misleading pairs count: as-agent, as further agent-labelled data; subtract, the paper's literal term, which has no lower bound and may diverge",
    ),
  reward: z
    .enum(['logit', 'minus-log-d'])
    .default('logit')
    .describe(
      "what the agent earns for a step: the discriminator's logit, high for experts, as in the published code; minus-log-d, −log D as in the paper, which is never negative",
    ),
  rewardScale: z
    .enum(['running-deviation', 'none'])
    .default('running-deviation')
    .describe(
      'what rewards are divided by: the running deviation of their discounted sum, as in the published code, or nothing, as in the paper',
    ),
  discriminator: z
    .strictObject({
      hidden: z.int().min(1).default(100).describe('units in each of the two hidden layers'),
      learningRate: z.number().positive().default(1e-4).describe('of Adam'),
      batchSize: z.int().min(1).default(64).describe('pairs of the agent, and of each expert, in a minibatch'),
      epochs: z.int().min(1).default(5).describe("passes over the agent's steps in each iteration"),
      warmupEpochs: z.int().min(1).default(10).describe('the same in the first warm-up iterations'),
      warmupIterations: z.int().min(0).default(10).describe('iterations with warm-up epochs'),
      penalty: z
        .number()
        .min(0)
        .default(10)
        .describe('weight of the gradient penalty, which pulls norms to 1; 0 turns it off'),
    })
    .prefault({})
    .describe('tells demonstrated steps from the agent’s'),
};
export type GailConfig = z.infer<z.ZodObject<typeof gailOptions>>;

/** A problem of the experts' weights; null without one. */
export function expertWeightsProblem({ alpha, beta, gamma }: Pick<GailConfig, 'alpha' | 'beta' | 'gamma'>) {
  // Not merely > 0: the losses are divided by α + β − γ, and 0.2 + 0.1 exceeds 0.3 by a rounding error.
  return alpha + beta - gamma > 1e-6
    ? null
    : `alpha + beta must exceed gamma, or nothing is left to imitate; got ${alpha} + ${beta} ≤ ${gamma}`;
}

/** Of behaviour cloning. */
export const behaviorCloningSchema = z.strictObject({
  epochs: z.int().min(1).default(50).describe('passes over the demonstrated pairs'),
  batchSize: z.int().min(1).default(64).describe('pairs in a minibatch'),
  learningRate: z.number().positive().default(1e-3).describe('of Adam'),
});
export type BehaviorCloningConfig = z.infer<typeof behaviorCloningSchema>;

/** Of the exact policy gradient: what the task's own return is. */
export const taskSchema = z.strictObject({
  target: z
    .enum(['right', 'probability'])
    .default('probability')
    .describe(
      "what a stop is worth: 1 if the detector is right there, or the detector's probability of the right label",
    ),
  delayCost: z.number().min(0).default(0.2).describe('subtracted from the worth of a stop: this × share of posts used'),
  queryCost: z.number().min(0).default(0).describe('subtracted as well: this × queries up to the stop'),
  environment: z
    .enum(['left-out', 'pseudo-labelled'])
    .default('left-out')
    .describe(
      'pseudo-labelled: the environment’s threads count, too, each with the label that its last judgement gives: more threads, no labels, and queries in training',
    ),
  control: z
    .enum(['none', 'shuffled-labels'])
    .default('none')
    .describe('shuffled-labels: the labelled threads swap their labels, so that there is nothing to learn from them'),
  updates: z.int().min(1).default(4).describe('steps up the return in each iteration'),
  learningRate: z.number().positive().default(3e-4).describe('of Adam; falls to 0 at the last iteration'),
});
export type TaskConfig = z.infer<typeof taskSchema>;

/** Of deep Q-learning. */
export const dqnSchema = z.strictObject({
  stepsPerIteration: z.int().min(1).default(200).describe('steps on labelled threads in each iteration'),
  updates: z.int().min(1).default(4).describe('minibatch updates in each iteration'),
  batchSize: z.int().min(1).default(50).describe('remembered steps in a minibatch'),
  memory: z.int().min(1).default(80_000).describe('steps that are remembered; the oldest are forgotten'),
  exploration: z.number().min(0).max(1).default(0.01).describe('share of the steps whose action is drawn by chance'),
  discount: z.number().min(0).max(1).default(0.99).describe('γ: what a reward one step later is worth'),
  rightGrowth: z
    .number()
    .min(0)
    .default(0.2)
    .describe('ρ: the M-th stop at which the detector is right earns 1 + ρ ln M'),
  wrongCost: z.number().min(0).default(100).describe('P: subtracted for a stop at which the detector is wrong'),
  waitCost: z.number().min(0).default(0.01).describe('ε: subtracted for each step of waiting'),
  learningRate: z.number().positive().default(1e-3).describe('of Adam'),
});
export type DqnConfig = z.infer<typeof dqnSchema>;
