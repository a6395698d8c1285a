import { type QueryMdp, queryMdp } from '../../envs/query-env.ts';
import { clippedLogs, oddsAndMargin } from '../../src/data/student-features.ts';

/*
 * What an agent with several detectors sees: of each detector whether it was asked, its last judgement and how old that is; then how
 * many posts were read. Nothing of a later prefix, and nothing that was not asked for.
 */

/** A thread as the agent can ask about it: everything that may be said of it is known. */
export interface QueryThread {
  readonly id: string;
  readonly posts: number;
  /** [steps]: posts read at each step, increasing. */
  readonly lengths: readonly number[];
  /** [steps][detectors]; null where a detector cannot be asked. */
  readonly judgements: readonly (readonly (KnownJudgement | null)[])[];
  /** Index of the right label; null where it is not known. */
  readonly gold: number | null;
}

/** What a detector says at one step, and what asking it there costs, in units of the return. */
export interface KnownJudgement {
  /** −1 where the answer could not be read. */
  readonly label: number;
  /** [labels]; null where the detector gives none. */
  readonly probabilities: readonly number[] | null;
  readonly cost: number;
}

/** The MDP of a thread, by who may be asked at which step. */
export function mdpOf({ judgements }: Pick<QueryThread, 'judgements'>): QueryMdp {
  return queryMdp(judgements.map((step) => step.map((judgement) => judgement !== null)));
}

/** Numbers of a state: whether asked, log-odds, margin and age of each detector, and the posts. */
export function queryStateSize({ detectors, labels }: { detectors: number; labels: number }): number {
  return detectors * (labels + 2) + 1;
}

/** The states of a thread's MDP, row-major [states, queryStateSize]. */
export function queryStates(
  thread: Pick<QueryThread, 'lengths' | 'judgements'>,
  { mdp, labels }: { mdp: QueryMdp; labels: number },
): Float32Array {
  const { detectors, step, askedAt } = mdp;
  const width = queryStateSize({ detectors, labels });
  const states = new Float32Array(step.length * width);
  for (let state = 0; state < step.length; state++) {
    const posts = thread.lengths[step[state]];
    for (let detector = 0; detector < detectors; detector++) {
      const at = askedAt[state * detectors + detector];
      if (at < 0) continue;
      const age = Math.log(1 + posts - thread.lengths[at]);
      const own = [1, ...judgementNumbers(thread.judgements[at][detector], labels), age];
      states.set(own, state * width + detector * (labels + 2));
    }
    states[state * width + width - 1] = Math.log(posts);
  }
  return states;
}

/** Log-odds and margin; a label alone counts as certain, and an answer that could not be read tells nothing. */
function judgementNumbers(judgement: KnownJudgement | null, labels: number): number[] {
  if (judgement === null || judgement.label < 0) return new Array<number>(labels).fill(0);
  const { label, probabilities } = judgement;
  return oddsAndMargin(clippedLogs(probabilities ?? Array.from({ length: labels }, (_, own) => Number(own === label))));
}
