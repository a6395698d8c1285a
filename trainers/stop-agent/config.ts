import { z } from 'zod';
import { trajectoriesSchema } from '../../experts/trajectories.ts';
import { behaviorCloningSchema } from '../behavior-cloning.ts';
import { dqnSchema } from '../dqn.ts';
import { taskSchema } from '../exact-policy-gradient.ts';
import { expertWeightsProblem, gailOptions } from '../gail.ts';
import { ppoSchema } from '../ppo.ts';

/** What the policy is trained by. Each has a group of options of its own; those of the others are not read. */
export const algorithms = ['imitation', 'behavior-cloning', 'exact-policy-gradient', 'settled', 'dqn'] as const;
export type Algorithm = (typeof algorithms)[number];

export const stopAgentPresetNames = ['paper', 'published'] as const;
export type StopAgentPreset = (typeof stopAgentPresetNames)[number];

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

/** The stop agent's options. The defaults are the preset `paper`. */
export const stopAgentSchema = z
  .strictObject({
    preset: z
      .enum(stopAgentPresetNames)
      .default('paper')
      .describe('paper: the paper’s text, made sound; published: the authors’ code, quirks included'),
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
    pairing: z
      .enum(['same-step', 'previous-step'])
      .default('same-step')
      .describe('which state a demonstrated action belongs to; previous-step is what the published code does'),
    balance: z
      .enum(['none', 'stop-step'])
      .default('none')
      .describe('stop-step: repeat demonstrations until early and late stops weigh the same'),
    lastPost: z
      .enum(['decision', 'dropped'])
      .default('decision')
      .describe(
        'whether the last post is acted upon, in training and in tests; dropped is what the published code does: a thread that the agent has not stopped is decided one post before its end, at ER (n − 1)/n. A stop is then known when the next post comes',
      ),
    normalizer: z
      .enum(['per-feature', 'scalar-running'])
      .default('per-feature')
      .describe("per-feature: exact, from the table; scalar-running: the published code's, frozen after 11 iterations"),
    minPosts: z.int().min(1).default(3).describe('shorter threads are left out of the environment'),
    maxPosts: z.int().min(1).default(1000).describe('posts of a thread that the environment shows'),
  })
  .superRefine(({ algorithm, normalizer, initialization }, context) => {
    if (normalizer === 'scalar-running' && (algorithm !== 'imitation' || initialization === 'behavior-cloning'))
      context.addIssue({
        code: 'custom',
        path: ['normalizer'],
        message: `scalar-running learns from the first rollouts, and ${
          algorithm === 'imitation' ? 'initialization: behavior-cloning' : `algorithm: ${algorithm}`
        } needs the states before there are any; use per-feature`,
      });
    if (['behavior-cloning', 'settled', 'dqn'].includes(algorithm) && initialization === 'behavior-cloning')
      context.addIssue({
        code: 'custom',
        path: ['initialization'],
        message: `algorithm: ${algorithm} starts from random weights; leave initialization out`,
      });
  });
/** A stop agent's options with all defaults filled in: what `stopAgentSchema.parse` returns. */
export type StopAgentConfig = z.infer<typeof stopAgentSchema>;

/** Defaults by preset; what the user sets comes on top. */
export const stopAgentPresets = {
  /**
   * The paper's text, made sound: the schema's own defaults. The paper gives 50 and 100 threads, α, β, γ, hidden layers (64, 64)
   * with tanh, K = 200 steps an iteration, 200,000 in all, 4 and 5 epochs of PPO and of the discriminator, minibatches of 64
   * pairs, "4" for policy and value, γ̄ = 0.99, λ₀ = 0.97, 3e-4 for the value network, entropy 0.01, ε = 0.1, and a
   * prompt. What it does not give, and where each default is from:
   *
   *   authors' code   discriminator.hidden 100, learningRate 1e-4, warmupEpochs and warmupIterations 10, penalty 10
   *                   of norms other than 1; ppo.learningRate 3e-4 of the policy, too, learningRateDecay linear, Adam's ε 1e-5,
   *                   valueCoefficient 0.5, maxGradientNorm 0.5, minibatches 4 (its reading of "4"), orthogonal weights of
   *                   gain √2 and 0.01 (policy-value.ts); trajectories.keepEarlyAction differing, minPosts 3,
   *                   maxConservative 50; minPosts 3, maxPosts 1,000; episodeEnd last-post; maxJudgedPosts 500 (experiment)
   *   ours            misleading as-agent and misleadingPenalty add (bounded), otherExpertSampling passes, advantages per-minibatch,
   *                   valueGain 1, trajectories.ratio all, pairing same-step, lastPost decision, normalizer per-feature,
   *                   balance none, afterStop free, initialStopProbability 0.5, initialization random, no weight for an expert without
   *                   demonstrations; the reward's scale (gae.ts) is the authors'
   *   not the paper's taskWeight, behaviorCloning and task: options for other algorithms and baselines
   */
  paper: {},
  /**
   * What the authors' code (https://github.com/znhy1024/Few-Shot-EARD) does, quirks included, for reproduction:
   * demonstrations stop one post early, the last post is never acted upon (an agent that never stops has ER (n − 1)/n), one
   * scalar normaliser, the expert ratio counts both in the loss and in the choice of trajectories, early-action and misleading
   * pairs are drawn with replacement, the misleading set is subtracted, advantages are standardised over the whole iteration,
   * and the value head starts with gain √2. Not reproduced: threads are drawn with replacement there and in shuffled passes
   * here; an iteration begins with a new thread there and goes on with the one that was cut here; a thread that ends on the
   * iteration's last step overwrites its first observation there. benchmarks/beside-other-code.ts runs the two side by side.
   */
  published: {
    pairing: 'previous-step',
    lastPost: 'dropped',
    normalizer: 'scalar-running',
    trajectories: { ratio: 'weights' },
    imitation: {
      misleading: 'subtract',
      misleadingPenalty: 'subtract',
      otherExpertSampling: 'with-replacement',
      ppo: { advantages: 'per-iteration', valueGain: Math.SQRT2 },
    },
  },
} as const satisfies Record<StopAgentPreset, z.input<typeof stopAgentSchema>>;
