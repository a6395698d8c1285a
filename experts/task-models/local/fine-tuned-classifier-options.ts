import { z } from 'zod';

/** The pulls differ by task, as do the numbers and the kinds of labels. */
export const fineTunedClassifierOptionsSchema = (defaults: { l2: number; pretrainL2: number }) =>
  z
    .strictObject({
      l2: z
        .number()
        .positive()
        .default(defaults.l2)
        .describe(
          'pull of tuned weights to the pretrained ones, beside the summed loss; higher trusts new labels less',
        ),
      pretrainL2: z
        .number()
        .positive()
        .default(defaults.pretrainL2)
        .describe('the same for pretraining: pull to the weights before it'),
      tuneFrom: z
        .enum(['pretrained', 'nothing'])
        .default('pretrained')
        .describe(
          'the weights that tuned ones are pulled to: the pretrained ones, or none, so that all is learnt anew from the examples',
        ),
      classWeights: z
        .enum(['none', 'root', 'balanced'])
        .default('root')
        .describe('weigh examples by 1, by 1/√ or by 1/ the count of their class; "none" gives calibrated frequencies'),
      tolerance: z
        .number()
        .positive()
        .default(1e-3)
        .describe('distance of the loss to its minimum that ends a fit, in nats'),
      steps: z.int().min(1).default(300).describe('most steps of a fit'),
      folds: z
        .int()
        .min(1)
        .max(20)
        .default(3)
        .describe('held-out classifiers, for threads that were trained on; 1 lets labels echo back'),
    })
    .prefault({})
    .describe('how weights are fitted');

export type FineTunedClassifierOptions = z.infer<ReturnType<typeof fineTunedClassifierOptionsSchema>>;
