import { timeProblem } from '../../src/data/iso-time.ts';
import type { Prefix } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';

/** The fields of a post that a policy or its detector reads. */
export interface PolicyPost {
  readonly text: string;
  /**
   * ISO 8601. Deadlines in hours read it, and models trained with times, to which a missing time is typical.
   */
  readonly time?: string | null;
  readonly id?: string;
  readonly author?: string | null;
  readonly parent?: string | null;
}

/** @throws InputError for a post without a text, or with an invalid time */
export function postOf(post: string | PolicyPost): PolicyPost {
  if (typeof post === 'string') return { text: post };
  const problem = problemOf(post);
  if (problem !== null) throw new InputError(problem);
  return post;
}

/** Callers without types may give anything. */
function problemOf(post: PolicyPost): string | null {
  if (typeof post?.text !== 'string') return `a post must have a text; found ${JSON.stringify(post)}`;
  const { time = null } = post;
  const otherwise = 'is no time; write ISO 8601, such as 2014-08-09T22:33:06Z, or leave it out';
  const problem = time === null ? null : timeProblem(time, otherwise);
  return problem === null ? null : `${JSON.stringify(time)} ${problem}`;
}

/** A detector's output for a prefix. */
export interface DetectorOutput {
  /** Null if the detector gives no label. */
  readonly label: string | null;
  /** The probability of every label; null if the detector gives none. */
  readonly probabilities: Readonly<Record<string, number>> | null;
}

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
