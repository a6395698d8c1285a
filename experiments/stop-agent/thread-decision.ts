import { z } from 'zod';
import { recordOf } from '../../src/record-of.ts';

const predictionSchema = z.object({
  label: z.string(),
  probabilities: recordOf(z.number()).meta({ type: 'object', additionalProperties: { type: 'number' } }),
});

/** The shape of a decision: a line that `earshot decide` prints. What the server answers and keeps are parts of it. */
export const threadDecisionSchema = z.object({
  threadId: z.string(),
  post: z.string().describe('the last post that the decision is about'),
  time: z.string().nullable().describe('of that post'),
  hours: z.number().nullable().describe('from the claim to the decision; null where a time is unknown'),
  stopped: z
    .boolean()
    .describe('whether the decision is final; false where the thread ended first, so that further posts may change it'),
  why: z
    .enum(['threshold', 'deadline', 'end'])
    .describe('why it was decided: by its score, by the deadline, or at the end of the thread'),
  postsUsed: z.int(),
  posts: z.int(),
  postsLeftOut: z.int().describe('posts after the limit up to which the policy reads; they are no part of posts'),
  earliness: z.number().describe('postsUsed / posts'),
  scores: z
    .array(z.number())
    .readonly()
    .describe('at every post used, given that the policy read on before; 0 where it does not act'),
  prediction: predictionSchema.nullable().describe('by the detector, given the posts that the decision is about'),
  predictionMissing: z.string().nullable().describe('why there is no prediction'),
  alert: z
    .boolean()
    .optional()
    .describe(
      'whether someone should act: the thread is decided, and its label raises an alert; left out where no label does',
    ),
  queries: z.int().describe('how often the detector was queried'),
  outOfDistribution: z
    .object({ score: z.number(), isFlagged: z.boolean() })
    .nullable()
    .describe(
      'how unlike the threads of the guarantee, or without one the training threads, this one is (1 − cosine of the claims), and whether hardly any of those scores as much; null where neither is known',
    ),
  trainedOn: z.boolean().describe('whether the policy learnt from this thread, known by its id and claim'),
});

/** The decision of a policy about a thread, labelled or not. */
export type ThreadDecision = Readonly<z.output<typeof threadDecisionSchema>>;
