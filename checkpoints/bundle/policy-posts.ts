import { InputError } from '../../src/errors.ts';

/** A post, as far as a policy reads it. */
export interface PolicyPost {
  readonly text: string;
  /** ISO 8601. Only bundles whose detector or student was trained with times read it; where it is missing, it counts as usual. */
  readonly time?: string | null | undefined;
}

/** @throws InputError for posts that are no list */
export function postsOf(given: readonly (string | PolicyPost)[]): PolicyPost[] {
  // Callers without types send what they have.
  if (!Array.isArray(given)) throw new InputError('posts must be a list: [{ text }, …]');
  return given.map(postOf);
}

const isoTime = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]..:..)$/;

/** @throws InputError for a text or a time that is none */
function postOf(given: string | PolicyPost): PolicyPost {
  if (typeof given === 'string') return { text: given };
  if (typeof given?.text !== 'string') throw new InputError(`a post must have a text; found ${JSON.stringify(given)}`);
  const { time = null } = given;
  if (time !== null && (!isoTime.test(time) || Number.isNaN(Date.parse(time))))
    throw new InputError(
      `${JSON.stringify(time)} is no time; write ISO 8601, such as 2014-08-09T22:33:06Z, or leave it out`,
    );
  return given;
}
