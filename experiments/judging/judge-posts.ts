import type { DetectorOutput } from '../../checkpoints/policy/policy.ts';
import type { PolicyPost } from '../../checkpoints/policy/policy-post.ts';
import type { Prefix } from '../../src/data/thread.ts';

export type JudgePosts = (posts: readonly PolicyPost[], threadId: string) => Promise<DetectorOutput>;

/** A detector of prefixes as a policy queries it. */
export function judgePostsBy(detector: { judge(prefix: Prefix): Promise<DetectorOutput> }): JudgePosts {
  return (posts, threadId) => detector.judge({ threadId, posts: posts.map(wholePost) });
}

/** A post with every field. One without an id is named after its place. */
export function wholePost({ id, time, author, parent, text }: PolicyPost, index: number): Prefix['posts'][number] {
  return {
    id: id ?? String(index + 1),
    time: time ?? null,
    author: author ?? null,
    parent: parent ?? null,
    text,
    stance: null,
  };
}
