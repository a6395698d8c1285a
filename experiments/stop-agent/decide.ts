import type { Policy } from '../../checkpoints/policy/load-policy.ts';
import { alertOf, type Prediction } from '../../checkpoints/policy/policy.ts';
import { endsAllCalls } from '../../experts/llm/failures.ts';
import type { Thread } from '../../src/data/thread.ts';
import { ProviderError } from '../../src/errors.ts';
import type { ThreadDecision } from './thread-decision.ts';

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
