import { z } from 'zod';

/** How many replies the detector has seen; `all` is the whole thread. */
const repliesSchema = z.union([z.int().min(0), z.literal('all')]);
export type Replies = z.output<typeof repliesSchema>;

/** The points of S2MAD's figure on early detection: the claim alone, then every tenth reply. */
export const earlyDetectionReplies: readonly Replies[] = [0, 10, 20, 30, 40, 50, 'all'];

/** What a run's system is called. */
export const detectorName = 'detector';

const count = z.number().min(0);

/** A line of `decisions.jsonl`: what the detector of a run said of a thread after so many replies. */
export const detectorDecisionSchema = z.strictObject({
  system: z.literal(detectorName),
  threadId: z.string(),
  event: z.string().nullable(),
  replies: repliesSchema,
  posts: z.int().describe('posts that it read; fewer than the replies and the claim where the thread is shorter'),
  gold: z.string(),
  predicted: z.string().nullable().describe('null where nothing could be read, the judgement failed or it abstained'),
  abstained: z.boolean().describe('it said that the evidence does not suffice'),
  probabilities: z.record(z.string(), z.number()).nullable(),
  calls: count,
  inputTokens: count,
  outputTokens: count,
  cost: count.nullable().describe('null where its models have different prices'),
  seconds: count
    .nullable()
    .describe('from the question to the judgement, when it was made; null where it is not known'),
  explanation: z.string(),
  key: z
    .string()
    .nullable()
    .describe(
      'of the annotation, with transcript and answers; null for a detector that costs nothing, which keeps none',
    ),
});
export type DetectorDecision = z.output<typeof detectorDecisionSchema>;

/** `all posts`, `the claim`, `claim and 10 replies`. */
export function repliesInWords(replies: Replies): string {
  if (replies === 'all') return 'all posts';
  return replies === 0 ? 'the claim alone' : `the claim and ${replies} ${replies === 1 ? 'reply' : 'replies'}`;
}
