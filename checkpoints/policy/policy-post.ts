import { timeProblem } from '../../src/data/iso-time.ts';
import { InputError } from '../../src/errors.ts';

/** A post, as far as a policy or its detector reads it. */
export interface PolicyPost {
  readonly text: string;
  /**
   * ISO 8601. Deadlines in hours read it, and detectors and students that were trained with times. For the latter a missing time
   * counts as usual.
   */
  readonly time?: string | null;
  readonly id?: string;
  readonly author?: string | null;
  readonly parent?: string | null;
}

/** @throws InputError for a post without a text, or with a time that is none */
export function postOf(given: string | PolicyPost): PolicyPost {
  if (typeof given === 'string') return { text: given };
  if (typeof given?.text !== 'string') throw new InputError(`a post must have a text; found ${JSON.stringify(given)}`);
  const { time = null } = given;
  const otherwise = 'is no time; write ISO 8601, such as 2014-08-09T22:33:06Z, or leave it out';
  const problem = time === null ? null : timeProblem(time, otherwise);
  if (problem !== null) throw new InputError(`${JSON.stringify(time)} ${problem}`);
  return given;
}
