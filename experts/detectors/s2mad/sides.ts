import { drawnComments } from '../drawn-comments.ts';
import type { Comment } from './comments-and-claim.ts';

/** The comments that each debater reads. */
export interface CommentSides {
  readonly support: readonly Comment[];
  readonly oppose: readonly Comment[];
}

/** P and N (Eq. 2). Comments with score 0 or without a score are on neither side. */
export function separateStances(options: {
  comments: readonly Comment[];
  scored: readonly (number | null)[];
  topComments: number;
}): CommentSides {
  const { comments, scored, topComments } = options;
  const top = (sign: 1 | -1) => {
    const strength = (comment: Comment) => sign * (scored[comment.index - 1] ?? 0);
    const onSide = comments.filter((comment) => strength(comment) > 0);
    return inTimeOrder(onSide.sort((one, other) => strength(other) - strength(one)).slice(0, topComments));
  };
  return { support: top(1), oppose: top(-1) };
}

/** Draws up to 2k comments at random and deals them out in turn. */
export function dealtOut(options: {
  comments: readonly Comment[];
  claim: string;
  topComments: number;
  seed: number;
}): CommentSides {
  const { comments, claim, topComments, seed } = options;
  const drawn = drawnComments({ comments, claim, most: 2 * topComments, seed });
  const every = (parity: number) => inTimeOrder(drawn.filter((_, place) => place % 2 === parity));
  return { support: every(0), oppose: every(1) };
}

export function inTimeOrder(comments: readonly Comment[]): Comment[] {
  return comments.toSorted((one, other) => one.index - other.index);
}
