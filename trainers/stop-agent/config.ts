import { z } from 'zod';
import { trajectoriesSchema } from '../../experts/trajectories.ts';
import {
  behaviorCloningSchema,
  dqnSchema,
  expertWeightsProblem,
  gailOptions,
  ppoSchema,
  taskSchema,
} from '../config.ts';

/** The algorithms that train a policy. Each has a group of options of its own; those of the others are not read. */
export const algorithms = ['imitation', 'behavior-cloning', 'exact-policy-gradient', 'settled', 'dqn'] as const;
export type Algorithm = (typeof algorithms)[number];

/** Whether an agent learns from experts, which others only stand beside. */
export function imitatesExperts({ algorithm }: { readonly algorithm: Algorithm }): boolean {
  return algorithm === 'imitation' || algorithm === 'behavior-cloning';
}

const imitationSchema = z
  .strictObject({
    ...gailOptions,
    ppo: ppoSchema.prefault({}),
    episodeEnd: z
      .enum(['last-post', 'stop'])
      .default('last-post')
      .describe('stop ends a training episode at the first stop. Rewards of one sign then teach early or late endings'),
    afterStop: z
      .enum(['free', 'stop'])
      .default('free')
      .describe(
        'what follows the first stop in a training episode: free, whatever the agent chooses, as in the published code; stop, the action of every demonstration there. Free actions after the stop are most of what is imitated, and no decision reads them',
      ),
    taskWeight: z
      .number()
      .min(0)
      .default(0)
      .describe(
        "weight of the task's own gradient (see `task`) in every update of the policy, beside PPO's; 0 is the paper",
      ),
  })
  .superRefine((config, context) => {
    const { ppo, discriminator } = config;
    const problem = expertWeightsProblem(config);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    if (ppo.stepsPerIteration < discriminator.batchSize)
      context.addIssue({
        code: 'custom',
        message: `ppo.stepsPerIteration (${ppo.stepsPerIteration}) must be at least discriminator.batchSize (${discriminator.batchSize}), or no minibatch of the discriminator can be filled`,
      });
    if (ppo.stepsPerIteration < ppo.minibatches)
      context.addIssue({
        code: 'custom',
        message: `ppo.stepsPerIteration (${ppo.stepsPerIteration}) must be at least ppo.minibatches (${ppo.minibatches})`,
      });
  });

/*
 * The defaults are EARD's text, made sound. The paper gives 50 and 100 threads, α, β, γ, hidden layers (64, 64) with tanh, K = 200
 * steps an iteration, 200,000 in all, 4 and 5 epochs of PPO and of the discriminator, minibatches of 64 pairs, "4" for policy and
 * value, γ̄ = 0.99, λ₀ = 0.97, 3e-4 for the value network, entropy 0.01, ε = 0.1, and a prompt. What it does not give, and where each
 * default is from:
 *
 *   authors' code   discriminator.hidden 100, learningRate 1e-4, warmupEpochs and warmupIterations 10, penalty 10
 *                   of norms other than 1; ppo.learningRate 3e-4 of the policy, too, learningRateDecay linear, Adam's ε 1e-5,
 *                   valueCoefficient 0.5, maxGradientNorm 0.5, minibatches 4 (its reading of "4"), orthogonal weights of
 *                   gain √2 and 0.01 (policy-value.ts); trajectories.keepEarlyAction differing, minPosts 3,
 *                   maxConservative 50; minPosts 3, maxPosts 1,000; episodeEnd last-post; maxJudgedPosts 500 (experiment);
 *                   the reward's scale (gae.ts)
 *   ours            misleading as-agent, with a penalty that is added (bounded), advantages per-minibatch, gain 1 of the value's
 *                   head, trajectories.ratio all, balance none, afterStop free, initialStopProbability 0.5, initialization random,
 *                   a decision at the last post, states standardised per feature, no weight for an expert without demonstrations
 *   not the paper's taskWeight, behaviorCloning and task: options for other algorithms and baselines
 *
 * What the authors' code (https://github.com/znhy1024/Few-Shot-EARD) does otherwise is in docs/reference/papers.md, in words.
 */

/** The stop agent's options. */
export const stopAgentSchema = z
  .strictObject({
    algorithm: z
      .enum(algorithms)
      .default('imitation')
      .describe(
        'imitation: GAIL with PPO, as in the paper; behavior-cloning: copies the demonstrations; exact-policy-gradient: climbs the expected return of the task itself, without sampling; settled: π(stop) is the probability that the judgement is the one after all posts; calibrate it; dqn: deep Q-learning on the labelled threads, as in ERD (Zhou et al. 2019)',
      ),
    iterations: z.int().min(1).default(1000).describe('rounds of training; 1,000 × 200 steps in the paper'),
    hidden: z.int().min(1).default(64).describe('units in each of the two hidden layers of policy and value'),
    initialization: z
      .enum(['random', 'behavior-cloning'])
      .default('random')
      .describe('behavior-cloning: the policy starts from a copy of the demonstrations'),
    initialStopProbability: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.5)
      .describe(
        'of the untrained policy at every step. At one half it hardly ever sees the fifth post before its first stop',
      ),
    imitation: imitationSchema.prefault({}).describe('of GAIL and PPO'),
    behaviorCloning: behaviorCloningSchema.prefault({}).describe('of behaviour cloning, and of settled'),
    task: taskSchema.prefault({}).describe("of the task's own return on the labelled threads"),
    dqn: dqnSchema.prefault({}).describe('of deep Q-learning'),
    trajectories: trajectoriesSchema.prefault({}),
    balance: z
      .enum(['none', 'stop-step'])
      .default('none')
      .describe('stop-step: repeat demonstrations until early and late stops weigh the same'),
    minPosts: z.int().min(1).default(3).describe('shorter threads are left out of the environment'),
    maxPosts: z.int().min(1).default(1000).describe('posts of a thread that the environment shows'),
  })
  .superRefine(({ algorithm, initialization }, context) => {
    if (['behavior-cloning', 'settled', 'dqn'].includes(algorithm) && initialization === 'behavior-cloning')
      context.addIssue({
        code: 'custom',
        path: ['initialization'],
        message: `algorithm: ${algorithm} starts from random weights; leave initialization out`,
      });
  });
/** A stop agent's options with all defaults filled in: what `stopAgentSchema.parse` returns. */
export type StopAgentConfig = z.infer<typeof stopAgentSchema>;
