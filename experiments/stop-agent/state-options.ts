import { z } from 'zod';
import { studentFittings, studentTargets } from '../../experts/detectors/local/student.ts';
import { localDetectorOptionsSchema } from '../../experts/detectors/local/train-local-detector.ts';
import { prefixScheduleSchema } from '../../experts/prefix-schedule.ts';
import { postPoolings } from '../../src/data/post-pooling.ts';

export const stateSchema = z
  .strictObject({
    posts: z
      .enum([...postPoolings, 'none'])
      .default('sum')
      .describe(
        'how the embeddings of the k posts seen become one vector, to which the previous action’s is added: their sum, as in the published code; their mean, or their sum over √k (sqrt), each with ln k beside it; none: leave posts and action out',
      ),
    student: z
      .boolean()
      .default(false)
      .describe('add the confidence of a small student of the cached judgements, and how many posts were seen'),
    studentReads: z
      .enum(['demonstrations', 'demonstrations-and-environment'])
      .default('demonstrations')
      .describe(
        'threads whose judgements the student learns from; those of the environment cost detector queries, no labels',
      ),
    studentFitting: z
      .enum(studentFittings)
      .default('cross-fitted')
      .describe(
        'cross-fitted: threads that the student learnt from are read by one of the other folds, all others by the mean of the folds; whole: others are read by a student of all threads, demonstrations by further students of other folds, and the environment’s by the student that learnt from them, which is surer there',
      ),
    studentTargets: z
      .enum(studentTargets)
      .default('probabilities')
      .describe(
        'what the student learns of a judgement: its label, or its probabilities (a judgement without any counts as its label)',
      ),
    studentOptions: localDetectorOptionsSchema
      .prefault({ characterWeights: [1], l2: [3e-4, 3e-3], folds: 3 })
      .describe('how the student is trained'),
    observesDetector: z
      .boolean()
      .default(false)
      .describe(
        'the agent sees the last judgement of its detector (log-odds, their size, how long ago, for how many judgements in a row), and how many posts it has seen',
      ),
    querySchedule: prefixScheduleSchema.describe(
      'with observesDetector, the posts at which the detector is queried while the agent reads',
    ),
    actsAt: z
      .enum(['every-post', 'queried-posts'])
      .default('every-post')
      .describe(
        'queried-posts: the agent decides where the detector is queried, and nowhere else; at the last post, the decision is made in any case',
      ),
  })
  .describe('what the agent sees, and where it decides');
