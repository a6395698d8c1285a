import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import type { TrialResult } from '../result.ts';
import { collapsedShare } from './aggregate.ts';

/** The agents of an experiment, best first. */
export interface RankedAgent {
  readonly variant: string;
  /** Macro-F1 less what posts and calls cost, on the part that agents are chosen on; means over seeds. */
  readonly worth: number;
  /** It stops nearly every thread at the same place there. */
  readonly isCollapsed: boolean;
  /** The trial that is worth most. */
  readonly bestTrial: number;
}

/**
 * Orders agents by macro-F1 − delayCost × ER − callCost × calls on the development part, or where there is none on the decided
 * one. The price is that of the first agent for all of them; those that collapsed come last.
 */
export function rankedAgents(results: readonly VariantResults<TrialResult>[]): RankedAgent[] {
  const { delayCost, callCost } = results[0].trials[0].ranking.price;
  const agents = results.map(({ variant, trials }): RankedAgent => {
    const scores = trials.map(({ ranking }) => ranking.agent);
    const worths = scores.map(
      ({ values: { macroF1, er, callsPerThread } }) =>
        (macroF1 ?? 0) - delayCost * (er ?? 1) - callCost * (callsPerThread ?? 0),
    );
    return {
      variant,
      worth: mean(worths),
      bestTrial: worths.indexOf(Math.max(...worths)),
      isCollapsed: mean(scores.map(({ mostCommonStop }) => mostCommonStop.share)) >= collapsedShare,
    };
  });
  return agents.sort((a, b) => Number(a.isCollapsed) - Number(b.isCollapsed) || b.worth - a.worth);
}

/** The agent to go on with; null where every one collapsed. */
export function recommendedAgent(results: readonly VariantResults<TrialResult>[]): RankedAgent | null {
  const [best] = rankedAgents(results);
  return best.isCollapsed ? null : best;
}
