import type { DetectorOutput } from '../../checkpoints/policy/policy.ts';
import type { PolicyPost } from '../../checkpoints/policy/policy-post.ts';
import type { Prefix } from '../../src/data/thread.ts';

export type JudgePosts = (posts: readonly PolicyPost[], threadId: string) => Promise<DetectorOutput>;

/** Adapts a detector of prefixes to the form that policies query. */
export function judgePostsBy(detector: { judge(prefix: Prefix): Promise<DetectorOutput> }): JudgePosts {
  return (posts, threadId) => detector.judge({ threadId, posts: posts.map(wholePost) });
}

/** A post with every field. Its id is its place by default. */
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
