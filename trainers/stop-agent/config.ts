import { z } from 'zod';
import { trajectoriesSchema } from '../../experts/trajectories.ts';
import { behaviorCloningSchema } from '../behavior-cloning.ts';
import { gailSchema } from '../gail.ts';
import { ppoSchema } from '../ppo.ts';

/** The stop agent's options. The defaults are the preset `paper`. */
export const stopAgentSchema = z.strictObject({
  iterations: z.int().min(1).default(1000).describe('rounds of rollout and updates; 1,000 × 200 steps in the paper'),
  ppo: ppoSchema.prefault({}),
  gail: gailSchema.prefault({}),
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
    .describe('whether the state after the last post is acted upon; dropped is what the published code does'),
  episodeEnd: z
    .enum(['last-post', 'stop'])
    .default('last-post')
    .describe('stop ends a training episode at the first stop. Rewards of one sign then teach early or late endings'),
  normalizer: z
    .enum(['per-feature', 'scalar-running'])
    .default('per-feature')
    .describe("per-feature: exact, from the table; scalar-running: the published code's, frozen after 11 iterations"),
  minPosts: z.int().min(1).default(3).describe('shorter threads are left out of the environment'),
  maxPosts: z.int().min(1).default(1000).describe('posts of a thread that the environment shows'),
  initialization: z
    .enum(['random', 'behavior-cloning'])
    .default('random')
    .describe('behavior-cloning: the policy starts from a copy of the demonstrations'),
  behaviorCloning: behaviorCloningSchema.prefault({}),
  initialStopProbability: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.5)
    .describe(
      'of the untrained policy at every step. At one half it hardly ever sees the fifth post before its first stop',
    ),
  imitationReward: z.number().min(0).default(1).describe("weight of the discriminator's reward; 0 turns GAIL off"),
  taskReward: z
    .number()
    .min(0)
    .default(0)
    .describe("weight of the task's own return on the labelled threads, climbed without sampling; 0 is the paper"),
  taskTarget: z
    .enum(['right', 'probability'])
    .default('probability')
    .describe(
      "what a stop is worth: 1 if the detector is right there, or the detector's probability of the right label",
    ),
  delayCost: z.number().min(0).default(0.2).describe('a stop is worth this times the share of posts used less'),
  taskUpdates: z.int().min(1).default(4).describe('steps up the task return in each iteration'),
});
export type StopAgentConfig = z.infer<typeof stopAgentSchema>;
