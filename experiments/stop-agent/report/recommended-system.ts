import { percent } from '../../report/shown-numbers.ts';
import { agentName } from '../decisions.ts';
import { type Candidate, isCandidate, recommended } from '../recommendation.ts';
import type { TrialResult } from '../result.ts';
import type { SystemSummary } from './aggregate.ts';
import type { RankedAgent } from './ranked-agents.ts';

/** The system to go on with. */
export interface RecommendedSystem {
  readonly variant: string;
  /** The row of the report. */
  readonly system: string;
  /** The run that it is taken from. */
  readonly run: string;
  /** Why, and what it is worth on the decided part, in a sentence or two. */
  readonly sentence: string;
}

interface Placed extends Candidate {
  readonly agent: RankedAgent;
}

/** Chosen on the development part, of all rules and every agent; reported on the part that was decided. */
export function recommendedSystem(agents: readonly RankedAgent[]): RecommendedSystem {
  const [first] = agents;
  const { ranking, systems } = first.trials[0];
  const aim = { labels: Object.keys(systems[0].f1ByLabel), costs: ranking.costs, price: ranking.price };
  const candidates = agents.flatMap((agent, index) => candidatesOf(agent, { withRules: index === 0 }));
  // Variants that decide other threads cannot be compared thread by thread.
  const alike = candidates.filter((own) => threadsOf(own) === threadsOf(candidates[0]));
  const { system, best } = recommended(alike, aim);
  const summary = system.agent.systems.find(({ name }) => name === system.name)!;
  const nameOf = ({ name, agent }: Placed) => {
    if (name !== agentName) return name;
    return agent.variant === 'agent' ? 'the agent' : agent.variant;
  };
  const why = system === best ? 'the best' : `within one standard error of the best, ${nameOf(best)}, and simpler`;
  const { directory } = system.agent.bestTrial;
  return {
    variant: system.agent.variant,
    system: system.name,
    run: directory,
    sentence: `Recommended: ${nameOf(system)} (${why} on the ${ranking.part} part). ${scoresInWords(summary, first.trials[0])}`,
  };
}

function candidatesOf(agent: RankedAgent, { withRules }: { withRules: boolean }): Placed[] {
  const decided = agent.trials.map(({ ranking }) => ranking.decisions);
  const names = decided[0].filter(isCandidate).map(({ name }) => name);
  return names
    .filter((name) => name === agentName || withRules)
    .flatMap((name) => {
      const seeds = decided.flatMap((own) => own.filter((system) => system.name === name));
      return seeds.length < decided.length ? [] : [{ name, seeds, agent }];
    });
}

function threadsOf({ seeds }: Candidate): string {
  return seeds.flatMap(({ decisions }) => decisions.map(({ threadId }) => threadId)).join('\n');
}

function scoresInWords({ values }: SystemSummary, { part }: TrialResult): string {
  const { macroF1, er, callsPerThread, delayHours, expectedCost } = values;
  const scores = [
    ...(expectedCost ? [`an expected cost of ${expectedCost.mean.toFixed(3)} per thread`] : []),
    `a macro-F1 of ${macroF1?.mean.toFixed(3) ?? '–'}`,
  ];
  const delay = delayHours ? `, ${delayHours.mean.toFixed(1)} hours after the claim on average` : '';
  return `On the ${part} part it has ${scores.join(' and ')} after ${percent(er?.mean ?? 1)} of the posts${delay}, with ${(callsPerThread?.mean ?? 0).toFixed(1)} queries per thread.`;
}
