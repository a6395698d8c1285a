import { allPosts } from '../../../checkpoints/policy/rules.ts';
import { counted } from '../../../src/counted.ts';
import { directionOf, type Estimate, percent, shown } from '../../report/shown-numbers.ts';
import { agentName } from '../decisions.ts';
import { type Candidate, isCandidate, recommended } from '../recommendation.ts';
import type { RankedAgent, SystemSummary } from './agents.ts';

/** The system to go on with. */
export interface RecommendedSystem {
  readonly variant: string;
  /** Its row of the report. */
  readonly system: string;
  /** The run that it is taken from. */
  readonly run: string;
  /** What it is worth on the decided part, in one sentence. */
  readonly sentence: string;
  /** By what it was chosen. */
  readonly choice: string;
}

interface Placed extends Candidate {
  readonly agent: RankedAgent;
}

/**
 * Chosen on the development part, of all rules and every agent; reported on the part that was decided. Where agents were tested by a
 * guarantee, which no rule carries, one of these is chosen.
 */
export function recommendedSystem(agents: readonly RankedAgent[]): RecommendedSystem {
  const [first] = agents;
  const { ranking, systems, part, isCrossFitted } = first.trials[0];
  const guaranteed = agents.filter((agent) => agent.hasGuarantee);
  const hasGuarantee = guaranteed.length > 0;
  const candidates = hasGuarantee
    ? guaranteed.flatMap((agent) => candidatesOf(agent, { withRules: false }))
    : agents.flatMap((agent, index) => candidatesOf(agent, { withRules: index === 0 }));
  // Variants that decide other threads cannot be compared thread by thread.
  const alike = candidates.filter((own) => threadsOf(own) === threadsOf(candidates[0]));
  const { system, best } = recommended(alike, ranking);
  const { agent, name } = system;
  const summary = agent.systems.find((own) => own.name === name)!;
  const nameOf = (own: Placed) => (own.name === agentName ? agentTitle(own.agent) : own.name);
  const isSimpler = best.name === agentName && name !== agentName;
  const why =
    system === best
      ? 'the best'
      : `within one standard error of the best, ${nameOf(best)}, and ${isSimpler ? 'simpler' : 'queries less'}`;
  const { delayCost, queryCost } = ranking.price;
  const price = queryCost === 0 ? '' : ` − ${queryCost} × queries`;
  const gain =
    ranking.alerts === undefined
      ? `macro-F1 − ${delayCost} × earliness${price}`
      : `latency-weighted F1 of alerts${price}`;
  const by = ranking.costs === null ? gain : 'expected cost';
  const where =
    ranking.part === 'development'
      ? 'the development part'
      : isCrossFitted
        ? 'the same threads'
        : `the ${ranking.part} part, because there is no development part`;
  const decided = isCrossFitted
    ? `cross-validated over ${counted(systems[0].threads, 'labelled thread')}`
    : `on ${counted(systems[0].threads, `${part} thread`)}`;
  return {
    variant: agent.variant,
    system: name,
    run: agent.bestTrial.directory,
    sentence: `${name === agentName ? capitalAgent(agent) : `${name[0].toUpperCase()}${name.slice(1)}`} is recommended: ${decided}, it ${scoresInWords(summary, agent)}.`,
    choice: hasGuarantee
      ? 'It carries the guarantee. Rules do not, so none is recommended in its place.'
      : `It was chosen by ${by} on ${where}: it is ${why}.${agents.length > 1 ? ' The agents stand in the order of this number.' : ''}`,
  };
}

/** Where it begins a sentence. Names of variants stand in files, so they stay as they are. */
export function capitalAgent(agent: RankedAgent): string {
  return agentTitle(agent).replace(/^the /, 'The ');
}

export function agentTitle({ variant }: Pick<RankedAgent, 'variant'>): string {
  return variant === 'agent' ? 'the agent' : variant;
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

/** The end of a sentence: what is read, asked and reached, and how that stands to rules. */
function scoresInWords(system: SystemSummary, agent: RankedAgent): string {
  const { name, values } = system;
  const { systems, margins } = agent;
  if (agent.trials[0].ranking.alerts !== undefined) return alertsInWords(system, agent);
  const { macroF1, er, queriesPerThread, delayHours, expectedCost } = values;
  const whole = systems.find((own) => own.name === allPosts.name)?.values.macroF1?.mean ?? 0;
  const delay = delayHours ? `, ${delayHours.mean.toFixed(1)} hours after the first post on average` : '';
  const cost = expectedCost ? `an expected cost of ${expectedCost.mean.toFixed(3)} per thread and ` : '';
  const share = whole > 0 ? `, ${percent((macroF1?.mean ?? 0) / whole)} of that of reading everything` : '';
  const margin = name === agentName ? margins.overEqualQueries : null;
  const lead = margin === null ? '' : `, ${leadInWords(margin)} the best rules with the same earliness and queries`;
  return `reads ${percent(er?.mean ?? 1)} of the posts with ${(queriesPerThread?.mean ?? 0).toFixed(1)} queries per thread${delay}, and reaches ${cost}a macro-F1 of ${(macroF1?.mean ?? 0).toFixed(3)}${share}${lead}`;
}

function alertsInWords({ values }: SystemSummary, { systems }: RankedAgent): string {
  const meanOf = (name: string, of: SystemSummary['values'] = values) => of[name]?.mean ?? 0;
  const whole = systems.find((own) => own.name === allPosts.name)?.values;
  const hours = values.medianAlertHours ? ` and ${meanOf('medianAlertHours').toFixed(1)} hours` : '';
  const delay = `${counted(Math.round(meanOf('medianAlertPosts')), 'post')}${hours}`;
  const besides = whole === undefined ? '' : ` (${meanOf('latencyF1', whole).toFixed(3)} where all posts are read)`;
  return `raises ${meanOf('alertsPerThousand').toFixed(0)} alerts per 1,000 threads, ${percent(meanOf('alertPrecision'))} of them right, and half of the true ones within ${delay}. It finds ${percent(meanOf('alertRecall'))} of what should raise one, with ${meanOf('queriesPerThread').toFixed(1)} queries per thread; latency-weighted F1 is ${meanOf('latencyF1').toFixed(3)}${besides}`;
}

/** `+0.023 [+0.006, +0.042] above`, or that there is no measurable gain over. */
export function leadInWords(lead: Estimate): string {
  const number = shown(lead, { isDifference: true, shows: 'interval' });
  const direction = directionOf(lead.interval);
  return { '1': `${number} above`, '0': `no measurable gain (${number}) over`, '-1': `${number} below` }[direction];
}
