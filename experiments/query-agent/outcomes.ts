import type { QueryEpisode } from '../../envs/query-env.ts';
import { macroF1 } from '../../src/metrics/classification.ts';
import type { PricedPoint } from '../../src/metrics/pareto.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import type { QueryThread } from '../../trainers/query-agent/states.ts';

/** The agent among the systems of a run. */
export const queryAgentName = 'agent';

/** What an agent or a rule came to on one thread. */
export interface QueryOutcome {
  readonly threadId: string;
  readonly gold: number;
  /** −1 where the judgement that it answered with could not be read. */
  readonly predicted: number;
  readonly postsUsed: number;
  readonly posts: number;
  /** What asking cost, in units of the return. */
  readonly cost: number;
  /** Asks of each detector. */
  readonly asks: readonly number[];
  /** Whose judgement it is. */
  readonly detector: number;
}

export function outcomeOf(thread: QueryThread, { asks, step, detector, judgedAt }: QueryEpisode): QueryOutcome {
  const { judgements } = thread;
  return {
    threadId: thread.id,
    gold: thread.gold ?? -1,
    predicted: judgements[judgedAt][detector]?.label ?? -1,
    postsUsed: thread.lengths[step],
    posts: thread.posts,
    cost: asks.reduce((sum, ask) => sum + (judgements[ask.step][ask.detector]?.cost ?? 0), 0),
    asks: judgements[0].map((_, own) => asks.filter((ask) => ask.detector === own).length),
    detector,
  };
}

/** The return of each outcome where an answer is worth 1 if it is right: less the delay and what was asked. */
export function returnsOf(outcomes: readonly QueryOutcome[], delayCost: number): number[] {
  return outcomes.map(
    ({ gold, predicted, postsUsed, posts, cost }) =>
      Number(gold === predicted) - (delayCost * postsUsed) / posts - cost,
  );
}

/** What outcomes come to, where what asking costs takes the place of the number of calls. */
export function pointOf(outcomes: readonly QueryOutcome[], classes: number): PricedPoint {
  return {
    macroF1: macroF1({
      gold: outcomes.map(({ gold }) => gold),
      predicted: outcomes.map(({ predicted }) => predicted),
      classes,
    }),
    er: mean(outcomes.map(({ postsUsed, posts }) => postsUsed / posts)),
    calls: mean(outcomes.map(({ cost }) => cost)),
  };
}
