import { z } from 'zod';
import { type DecisionLine, decisionSchema } from '../run/decisions-file.ts';

/** How many replies the detector has seen; `all` is the whole thread. */
export type Replies = number | 'all';

/** The points of S2MAD's figure on early detection: the claim alone, then every tenth reply. */
export const earlyDetectionReplies: readonly Replies[] = [0, 10, 20, 30, 40, 50, 'all'];

/** The name of the system of a run. */
export const detectorName = 'detector';

const count = z.number().min(0);

/** The prediction of a run's detector about a thread after a number of replies, which is the place of the decision. */
export const detectorDecisionSchema = decisionSchema.extend({
  numbers: z.strictObject({
    posts: z.int().describe('that it read; fewer than the replies and the claim where the thread is shorter'),
    abstained: z.union([z.literal(0), z.literal(1)]).describe('1 where it said that the evidence does not suffice'),
    calls: count,
    inputTokens: count,
    outputTokens: count,
    cost: count.nullable().describe('null where the price of a model was not known when it was made'),
    seconds: count
      .nullable()
      .describe('from the question to the judgement, when it was made; null where it is not known'),
  }),
  texts: z.strictObject({
    explanation: z.string(),
    key: z
      .string()
      .nullable()
      .describe(
        'of the annotation, with transcript and answers; null for a detector that costs nothing, which keeps none',
      ),
  }),
});
export type DetectorDecision = z.output<typeof detectorDecisionSchema>;

export function repliesOf({ place }: Pick<DecisionLine, 'place'>): Replies {
  return typeof place.replies === 'number' ? place.replies : 'all';
}

/** From the fewest to the whole thread. */
export function inOrderOfReplies(first: Replies, second: Replies): number {
  const count = (replies: Replies) => (replies === 'all' ? Number.POSITIVE_INFINITY : replies);
  return first === second ? 0 : count(first) - count(second);
}

/** `all posts`, `the claim`, `claim and 10 replies`. */
export function repliesInWords(replies: Replies): string {
  if (replies === 'all') return 'all posts';
  return replies === 0 ? 'the claim alone' : `the claim and ${replies} ${replies === 1 ? 'reply' : 'replies'}`;
}
