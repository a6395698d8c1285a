import { z } from 'zod';
import { seedSchema } from '../../../src/seed.ts';
import { endpointsByRole, endpointsSchema, modelSchema } from '../models-by-role.ts';
import { promptsSchema } from '../prompt-templates.ts';

export const s2madOptionsSchema = z.strictObject({
  name: z.literal('s2mad').describe('comments separated by stance, two debaters, a judge (S2MAD)'),
  endpoints: endpointsSchema,
  prompts: promptsSchema,
  models: z
    .strictObject({
      supporter: modelSchema.describe(
        'debater who reads the supporting comments; plays every role that is not given, too',
      ),
      opposer: modelSchema.optional().describe('debater who reads the opposing comments'),
      scorer: modelSchema.optional().describe('scores comments'),
      classifier: modelSchema.optional().describe('distinguishes subjective claims from others'),
      judge: modelSchema.optional().describe('decides where the debaters differ'),
    })
    .describe('an endpoint, or the name of one, for each role'),
  topComments: z.int().min(1).default(20).describe('k: most comments of each side that its debater reads'),
  rounds: z.int().min(0).max(20).default(2).describe('M: rounds of debate after the initial opinions'),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullable()
    .default(0.2)
    .describe("temperature of every call, instead of the endpoints' own; null: not sent"),
  stanceSeparation: z
    .boolean()
    .default(true)
    .describe('ablation: without it no comment is scored, and random ones are dealt out to the debaters'),
  claimPrompt: z
    .enum(['by-subjectivity', 'subjective', 'objective'])
    .default('by-subjectivity')
    .describe('ablation: all claims get the same prompt instead of the one that fits them'),
  debate: z.boolean().default(true).describe('ablation: without it one agent reads all comments and decides alone'),
  seed: seedSchema.default(1).describe('draws the comments if stances are not separated'),
});
export type S2madOptions = z.infer<typeof s2madOptionsSchema>;

/** The endpoint of each role, all at the same temperature. */
export function s2madEndpoints({ models, endpoints, temperature }: S2madOptions) {
  const of = endpointsByRole({ models, byDefault: models.supporter, endpoints, temperature });
  return {
    supporter: of('supporter'),
    opposer: of('opposer'),
    scorer: of('scorer'),
    classifier: of('classifier'),
    judge: of('judge'),
  };
}
