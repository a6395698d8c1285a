import { z } from 'zod';

/** The options of an agent with several detectors. */
export const queryAgentSchema = z
  .strictObject({
    iterations: z.int().min(1).default(300).describe('steps up the expected return'),
    hidden: z.int().min(1).default(16).describe('units in each of the two hidden layers'),
    learningRate: z.number().positive().default(0.03).describe('of Adam; falls to 0 at the last iteration'),
    entropy: z
      .number()
      .min(0)
      .default(0.1)
      .describe('weight of the entropy bonus, in units of the return; falls to 0 at half of the iterations'),
    target: z
      .enum(['right', 'probability'])
      .default('right')
      .describe('what an answer is worth: 1 if it is right, or the probability that its detector gave the right label'),
    delayCost: z
      .number()
      .min(0)
      .default(0.2)
      .describe('subtracted from the worth of an answer: this × share of posts read'),
  })
  .describe('an agent that waits, asks one of several detectors, or answers');
/** The same with every default filled in. */
export type QueryAgentConfig = z.infer<typeof queryAgentSchema>;
