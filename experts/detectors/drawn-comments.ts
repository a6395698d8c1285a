import type { Prefix } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';

/** Draws at most `most` comments on a claim. Each has its own random number, whatever comments follow. */
export function drawnComments<Comment>(options: {
  comments: readonly Comment[];
  claim: string;
  most: number;
  seed: number;
}): Comment[] {
  const { comments, claim, most, seed } = options;
  const random = Random.seeded({ seed, purpose: `comments on ${claim}` });
  return comments
    .map((comment) => ({ comment, draw: random.uniform() }))
    .sort((one, other) => one.draw - other.draw)
    .slice(0, most)
    .map(({ comment }) => comment);
}

/** The claim and at most `most` drawn comments, in the order of the thread. */
export function withDrawnComments(prefix: Prefix, { most, seed }: { most: number; seed: number }): Prefix {
  const [claim, ...comments] = prefix.posts;
  const drawn = new Set(drawnComments({ comments, claim: claim.text, most, seed }));
  return { ...prefix, posts: [claim, ...comments.filter((comment) => drawn.has(comment))] };
}
