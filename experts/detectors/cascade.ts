import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { type Detector, detectorIdentity } from '../detector.ts';

/*
 * A local detector first, and a detector on language models where the first one is unsure: a cascade of two, as in
 * FrugalGPT (Chen et al. 2023, https://arxiv.org/abs/2305.05176). Its score is a trained model; ours is the local
 * detector's calibrated probability.
 */

/** @param others detectors that a cascade may end with */
export function cascadeOptionsSchema<Other extends z.ZodType>(others: Other) {
  return z.strictObject({
    name: z.literal('cascade').describe('a local detector, and another one where it is unsure'),
    first: z
      .string()
      .min(1)
      .describe('the detector.json of a run, looked for beside this file: a local detector, which costs nothing'),
    confidence: z
      .number()
      .gt(0)
      .lte(1)
      .default(0.9)
      .describe('the first one decides where its largest probability is at least this'),
    otherwise: others,
  });
}

/** @throws InputError if the two detectors have different labels */
export function cascade(settings: { first: Detector; otherwise: Detector; confidence: number }): Detector {
  const { first, otherwise, confidence } = settings;
  if (first.labels.join('\n') !== otherwise.labels.join('\n'))
    throw new InputError(
      `cascade: the first detector has the labels ${first.labels.join(', ')}, the other one ${otherwise.labels.join(', ')}; give detectors of one task`,
    );
  return {
    name: 'cascade',
    version: '1',
    options: { first: detectorIdentity(first), otherwise: detectorIdentity(otherwise), confidence },
    labels: otherwise.labels,
    mayAbstain: otherwise.mayAbstain,
    ...(first.inputOf && { inputOf: first.inputOf }),
    async judge(prefix, context) {
      const quick = await first.judge(prefix, context);
      const isSure = Math.max(0, ...Object.values(quick.probabilities ?? {})) >= confidence;
      return isSure ? quick : otherwise.judge(prefix, context);
    },
  };
}
