import { z } from 'zod';
import type { Policy } from '../../checkpoints/policy/load-policy.ts';
import { alertOf, type Prediction } from '../../checkpoints/policy/policy.ts';
import { endsAllCalls } from '../../experts/llm/failures.ts';
import type { Thread } from '../../src/data/thread.ts';
import { ProviderError } from '../../src/errors.ts';
import { recordOf } from '../../src/record-of.ts';

const predictionSchema = z.object({
  label: z.string(),
  probabilities: recordOf(z.number()).meta({ type: 'object', additionalProperties: { type: 'number' } }),
});

/** The one shape of a decision: a line that `earshot decide` prints, and an answer of /v1/decide. */
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

/*
 * Projections of it. In JavaScript, a policy answers with a `PolicyDecision`, which names no thread.
 */

/** Numbers that a run counts of a decision; `decisions.jsonl` has it beside the gold label. */
export const stopNumbersSchema = threadDecisionSchema
  .pick({ postsUsed: true, posts: true, hours: true, queries: true })
  .strict();

/** A decided thread as a server keeps it, without texts. */
export const outcomeSchema = threadDecisionSchema
  .pick({
    ...{ why: true, hours: true, time: true, outOfDistribution: true },
    ...{ trainedOn: true, queries: true, prediction: true, predictionMissing: true },
  })
  .extend({
    /** SHA-256 of the deciding bundle's manifest, and its threshold. */
    bundle: z.string(),
    threshold: z.number(),
    /** The posts up to the stop and the score at each. */
    posts: z.array(z.object({ id: z.string(), score: z.number() })).min(1),
  });
export type ThreadOutcome = z.infer<typeof outcomeSchema>;

/** A growing thread as a server shows it. */
export const threadViewSchema = threadDecisionSchema
  .pick({
    ...{ threadId: true, post: true, time: true, hours: true, postsUsed: true, outOfDistribution: true },
    ...{ trainedOn: true, queries: true, prediction: true, predictionMissing: true, alert: true },
  })
  .extend({
    model: z.string(),
    bundle: z.string().describe('SHA-256 of the manifest of the bundle that reads the thread, or has decided it'),
    decision: z.enum(['continue', 'stop']),
    stopped: z.boolean().describe('false while the policy reads on, and where the thread ended before it stopped'),
    why: threadDecisionSchema.shape.why.nullable().describe('why it was decided; null while the policy reads on'),
    posts: z.array(
      z.object({
        id: z.string(),
        score: z.number().nullable().describe('null for a post after the decision, which was not read'),
      }),
    ),
  });

export type ThreadView = z.infer<typeof threadViewSchema>;

/** Decides threads. Once the detector cannot be queried any more, it is not tried again. */
export function threadDecider(
  policy: Pick<Policy, 'definition' | 'hasDetector' | 'open' | 'outOfDistribution' | 'isTrainedOn'>,
): (thread: Thread) => Promise<ThreadDecision> {
  const { limits } = policy.definition;
  /** Why nothing more is asked. */
  let end: string | null = policy.hasDetector ? null : 'no detector is at hand';
  return async (whole) => {
    const thread = policy.open(whole.id);
    const posts = whole.posts.slice(0, limits.maxPosts);
    for (const post of posts) if ((await thread.read(post)).why !== null) break;
    const { why, stopped, postsUsed, hours, scores } = thread.end();
    const { prediction, missing } = await predicted();
    return {
      threadId: whole.id,
      post: posts[postsUsed - 1].id,
      time: posts[postsUsed - 1].time,
      hours,
      stopped,
      why: why ?? 'end',
      postsUsed,
      posts: posts.length,
      postsLeftOut: whole.posts.length - posts.length,
      earliness: postsUsed / posts.length,
      scores,
      prediction,
      predictionMissing: missing,
      ...alertOf(policy.definition.task, prediction),
      queries: thread.reading().queries,
      outOfDistribution: policy.outOfDistribution(whole.posts[0].text),
      trainedOn: await policy.isTrainedOn(whole),
    };

    async function predicted(): Promise<{ prediction: Prediction | null; missing: string | null }> {
      if (end !== null) return { prediction: null, missing: end };
      try {
        const prediction = await thread.predict();
        return { prediction, missing: prediction === null ? 'the detector does not decide' : null };
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        if (endsAllCalls(error)) end = error.message;
        return { prediction: null, missing: error.message };
      }
    }
  };
}
