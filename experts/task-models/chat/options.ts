import { z } from 'zod';
import { endpointsSchema, modelSchema } from '../../detectors/models-by-role.ts';

/** Options of the chat task models for any task. */
export const chatOptionsShape = {
  name: z.literal('chat').describe('a language model answers in the form of the paper (JSDRV, Appendix A)'),
  endpoints: endpointsSchema,
  model: modelSchema,
  temperature: z.number().min(0).max(2).nullable().optional().describe("temperature, instead of the endpoint's own"),
  samples: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe('where the endpoint has no log-probabilities, the shares of this many answers are the distribution'),
  smoothing: z
    .number()
    .nonnegative()
    .default(0.5)
    .describe('answers added to each class before shares are computed; log-probabilities are left as they are'),
  failuresAtMost: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe(
      "share of a prediction's items that the endpoint may fail to answer for good (content filter, text too long): " +
        'they get the uniform distribution and are asked again next time; 0: the first failure ends the run',
    ),
  unreadableAtMost: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe(
      'share of all items, as soon as there are 20, whose answers may name no class: they get the uniform distribution, and are ' +
        'not asked again until `earshot annotations unreadable <store> --forget`; above it the run ends',
    ),
  examplesShown: z
    .int()
    .min(1)
    .max(100)
    .default(8)
    .describe('examples in a prompt, of all classes together; those of pretraining as long as there are no others'),
};

const chatOptionsSchema = z.strictObject(chatOptionsShape);
export type ChatOptions = z.infer<typeof chatOptionsSchema>;
