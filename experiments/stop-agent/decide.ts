import type { OutOfDistribution } from '../../checkpoints/policy/out-of-distribution.ts';
import { alertOf, type Prediction } from '../../checkpoints/policy/policy.ts';
import type { StopReason } from '../../checkpoints/policy/stops.ts';
import { endsAllCalls } from '../../experts/llm/failures.ts';
import type { Thread } from '../../src/data/thread.ts';
import { ProviderError } from '../../src/errors.ts';
import type { OpenedPolicy } from './open-policy.ts';

/** A thread as a policy decides it, labelled or not: one line of what `earshot decide` prints. */
export interface DecidedThread {
  readonly threadId: string;
  /** The last post that the decision is about, and when it was posted. */
  readonly post: string;
  readonly time: string | null;
  /** From the claim to the decision; null where a time is unknown. */
  readonly hours: number | null;
  /** Whether it is final. Where the thread ended first, further posts may change it. */
  readonly stopped: boolean;
  readonly why: StopReason;
  readonly postsUsed: number;
  readonly posts: number;
  /** Posts after the limit up to which the policy reads: they are no part of `posts`. */
  readonly postsLeftOut: number;
  /** postsUsed / posts. */
  readonly earliness: number;
  /** At every post up to the stop, given that the policy read on before; 0 where it does not act. */
  readonly scores: readonly number[];
  /** What the detector says of the posts used; null where none is at hand. */
  readonly prediction: Prediction | null;
  /** Why there is no prediction; null where there is one. */
  readonly predictionMissing: string | null;
  /** Whether someone should act: the prediction is a label that raises an alert. Left out where no label of the task does. */
  readonly alert?: boolean;
  /** How often the detector was queried. */
  readonly queries: number;
  /** How unlike the threads of the guarantee this one is, or without a guarantee those that were trained on; null where neither is known. */
  readonly outOfDistribution: OutOfDistribution | null;
  /** Whether the policy learnt from this thread. */
  readonly trainedOn: boolean;
}

/** Decides threads. Once the detector cannot be queried any more, it is not tried again. */
export function threadDecider(
  policy: Pick<OpenedPolicy, 'definition' | 'hasDetector' | 'open' | 'outOfDistribution'> & {
    isTrainedOn(thread: Thread): boolean | Promise<boolean>;
  },
): (thread: Thread) => Promise<DecidedThread> {
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
