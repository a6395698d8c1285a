import { z } from 'zod';
import { endpointsSchema, modelSchema } from '../../detectors/models-by-role.ts';

const fineTuningSchema = z
  .strictObject({
    directory: z.string().min(1).nullable().default(null).describe('where the files and the state of the jobs lie'),
    createJob: z
      .boolean()
      .default(false)
      .describe(
        'hand the file in and follow the job, which the endpoint charges for beside any budget; false: only the file is written',
      ),
    epochs: z.int().positive().nullable().default(null).describe("passes over the file; null: the endpoint's choice"),
    pollMs: z.number().nonnegative().default(30_000).describe('between two looks at the job'),
    examplesAtLeast: z
      .int()
      .positive()
      .default(10)
      .describe('fewer examples make a file, but no job (OpenAI refuses files of fewer than 10)'),
    holdOut: z
      .boolean()
      .default(true)
      .describe('what a model was tuned on is judged by the model it was tuned from, so that it does not echo'),
  })
  .describe('for tuning: fine-tuning');

/** The options of both chat task models, whatever their task. */
export const chatOptionsShape = {
  name: z.literal('chat').describe('a language model answers in the form of the paper (JSDRV, Appendix A)'),
  endpoints: endpointsSchema,
  model: modelSchema,
  temperature: z.number().min(0).max(2).nullable().optional().describe("instead of the endpoint's own"),
  samples: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe('answers whose shares are the distribution where the endpoint has no log-probabilities'),
  smoothing: z
    .number()
    .nonnegative()
    .default(0.5)
    .describe('answers added to each class before shares are taken; log-probabilities are left as they are'),
  failuresAtMost: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe(
      'share of the items of one prediction that the endpoint may fail to answer for good (content filters, too long a ' +
        'text): they get the uniform distribution and are asked again next time; 0: the first failure ends the run',
    ),
  tuning: z
    .enum(['in-context', 'fine-tuning', 'none'])
    .default('in-context')
    .describe('examples are shown before the question, or learned by the model, or ignored'),
  examplesShown: z.int().min(1).max(100).default(8).describe('for tuning: in-context, over all classes'),
  usePretraining: z
    .boolean()
    .default(true)
    .describe('examples of pretraining are shown while there are no others, or fine-tuned on first; false: ignored'),
  fineTuning: fineTuningSchema.prefault({}),
};

const chatOptionsSchema = z.strictObject(chatOptionsShape);
export type ChatOptions = z.infer<typeof chatOptionsSchema>;
