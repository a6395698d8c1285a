import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { agentName } from '../decisions.ts';
import type { TrialResult } from '../result.ts';
import { collapsedShare, compareToFront, type FrontComparison, type SystemSummary, summarize } from './aggregate.ts';

/** An agent over its seeds, and how it stands. */
export interface RankedAgent extends VariantResults<TrialResult> {
  /** Every system of its runs. */
  readonly systems: readonly SystemSummary[];
  readonly agent: SystemSummary;
  readonly front: FrontComparison;
  /** Macro-F1 less what posts and calls cost, on the part that agents are chosen on; means over seeds. */
  readonly worth: number;
  /** It stops nearly every thread at the same place there. */
  readonly isCollapsed: boolean;
  /** The trial that is worth most. */
  readonly bestTrial: TrialResult;
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
    const systems = summarize(trials);
    return {
      variant,
      trials,
      systems,
      agent: systems.find((system) => system.name === agentName)!,
      front: compareToFront(trials),
      worth: mean(worths),
      bestTrial: trials[worths.indexOf(Math.max(...worths))],
      isCollapsed: mean(scores.map(({ mostCommonStop }) => mostCommonStop.share)) >= collapsedShare,
    };
  });
  return agents.sort((a, b) => Number(a.isCollapsed) - Number(b.isCollapsed) || b.worth - a.worth);
}

/** The agent to go on with; null where every one collapsed. */
export function recommendedAgent([best]: readonly RankedAgent[]): RankedAgent | null {
  return best.isCollapsed ? null : best;
}
