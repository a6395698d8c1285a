import { timeProblem } from '../../src/data/iso-time.ts';
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
  if (typeof post?.text !== 'string') throw new InputError(`a post must have a text; found ${JSON.stringify(post)}`);
  const { time = null } = post;
  const otherwise = 'is no time; write ISO 8601, such as 2014-08-09T22:33:06Z, or leave it out';
  const problem = time === null ? null : timeProblem(time, otherwise);
  if (problem !== null) throw new InputError(`${JSON.stringify(time)} ${problem}`);
  return post;
}
