import { guaranteeInWords } from '../../../checkpoints/policy/guarantee.ts';
import { manyFlagged } from '../../../checkpoints/policy/out-of-distribution.ts';
import { allPosts } from '../../../checkpoints/policy/rules.ts';
import { counted } from '../../../src/counted.ts';
import { fewestItems } from '../../../src/metrics/bootstrap.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import type { Paragraph } from '../../report/report.ts';
import { directionOf, type Estimate, percent, shown, shownScore } from '../../report/shown-numbers.ts';
import { agentName } from '../decisions.ts';
import { learningCurveInWords } from '../learning-curve.ts';
import { testedGuarantee, unshownGuaranteeFile } from '../operating-point.ts';
import { type Candidate, isCandidate, recommended } from '../recommendation.ts';
import { isCrossFitted, type TrialResult } from '../result.ts';
import { deployedRun } from '../shipped-run.ts';
import { type RankedAgent, raisesAlerts, type SystemSummary } from './agents.ts';
import { collapseInWords, isCollapsed } from './collapse.ts';
import { type DetectorTruth, detectorTruthLine } from './detector-truth.ts';

/** The system to go on with. */
export interface RecommendedSystem {
  readonly variant: string;
  /** Its row of the report. */
  readonly system: string;
  /** The run that it is taken from. */
  readonly run: string;
  /** Its scores on the decided part, in one sentence. */
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
  const { ranking, systems, part } = first.trials[0];
  const isCross = isCrossFitted(first.trials[0]);
  const guaranteed = agents.filter((agent) => agent.hasGuarantee);
  const hasGuarantee = guaranteed.length > 0;
  const candidates = hasGuarantee
    ? guaranteed.flatMap((agent) => candidatesOf(agent, { withRules: false }))
    : agents.flatMap((agent, index) => candidatesOf(agent, { withRules: index === 0 }));
  // Variants that decide other threads cannot be compared thread by thread.
  const alike = candidates.filter((candidate) => threadsOf(candidate) === threadsOf(candidates[0]));
  const { system, best } = recommended(alike, ranking);
  const { agent, name } = system;
  const summary = agent.systems.find((system) => system.name === name)!;
  const nameOf = (placed: Placed) => (placed.name === agentName ? agentTitle(placed.agent) : placed.name);
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
      : isCross
        ? 'the same threads'
        : `the ${ranking.part} part, because there is no development part`;
  const decided = isCross
    ? `cross-validated over ${counted(systems[0].threads, 'labelled thread')}`
    : `on ${counted(systems[0].threads, `${part} thread`)}`;
  // Names of variants stand in files, so they stay as they are.
  const subject = name === agentName && agent.variant !== 'agent' ? agent.variant : capitalized(nameOf(system));
  return {
    variant: agent.variant,
    system: name,
    run: agent.bestTrial.directory,
    sentence: `${subject} is recommended: ${decided}, it ${scoresInWords(summary, agent)}.`,
    choice: hasGuarantee
      ? 'It carries the guarantee. Rules do not, so none is recommended in its place.'
      : `It was chosen by ${by} on ${where}: it is ${why}.${agents.length > 1 ? ' The agents stand in the order of this number.' : ''}`,
  };
}

function capitalized(text: string): string {
  return `${text[0].toUpperCase()}${text.slice(1)}`;
}

function agentTitle({ variant }: Pick<RankedAgent, 'variant'>): string {
  return variant === 'agent' ? 'the agent' : variant;
}

function candidatesOf(agent: RankedAgent, { withRules }: { withRules: boolean }): Placed[] {
  const decided = agent.trials.map(({ ranking }) => ranking.decisions);
  const names = decided[0].filter(isCandidate).map(({ name }) => name);
  return names
    .filter((name) => name === agentName || withRules)
    .flatMap((name) => {
      const seeds = decided.flatMap((systems) => systems.filter((system) => system.name === name));
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
  const whole = systems.find((system) => system.name === allPosts.name)?.values.macroF1?.mean ?? 0;
  const delay = delayHours ? `, ${delayHours.mean.toFixed(1)} hours after the first post on average` : '';
  const cost = expectedCost ? `an expected cost of ${expectedCost.mean.toFixed(3)} per thread and ` : '';
  const share = whole > 0 ? `, ${percent((macroF1?.mean ?? 0) / whole)} of that of reading everything` : '';
  const margin = name === agentName ? margins.overEqualQueries : null;
  const lead = margin === null ? '' : `, ${leadInWords(margin)} the best rules with the same earliness and queries`;
  return `reads ${percent(er?.mean ?? 1)} of the posts with ${(queriesPerThread?.mean ?? 0).toFixed(1)} queries per thread${delay}, and reaches ${cost}a macro-F1 of ${(macroF1?.mean ?? 0).toFixed(3)}${share}${lead}`;
}

function alertsInWords({ values }: SystemSummary, { systems }: RankedAgent): string {
  const meanOf = (name: string, of: SystemSummary['values'] = values) => of[name]?.mean ?? 0;
  const whole = systems.find((system) => system.name === allPosts.name)?.values;
  const hours = values.medianAlertHours ? ` and ${meanOf('medianAlertHours').toFixed(1)} hours` : '';
  const delay = `${counted(Math.round(meanOf('medianAlertPosts')), 'post')}${hours}`;
  const besides = whole === undefined ? '' : ` (${meanOf('latencyF1', whole).toFixed(3)} where all posts are read)`;
  return `raises ${meanOf('alertsPerThousand').toFixed(0)} alerts per 1,000 threads, ${percent(meanOf('alertPrecision'))} of them right, and half of the true ones within ${delay}. It finds ${percent(meanOf('alertRecall'))} of what should raise one, with ${meanOf('queriesPerThread').toFixed(1)} queries per thread; latency-weighted F1 is ${meanOf('latencyF1').toFixed(3)}${besides}`;
}

/** `+0.023 [+0.006, +0.042] above`, or that there is no measurable gain over. */
function leadInWords(lead: Estimate): string {
  const number = shown(lead, { isDifference: true, shows: 'interval' });
  const direction = directionOf(lead.interval);
  return { '1': `${number} above`, '0': `no measurable gain (${number}) over`, '-1': `${number} below` }[direction];
}

/** Notes on the first table: doubts about the numbers, agents beside rules, the meaning of columns. */
export function stopNotes(
  agents: readonly RankedAgent[],
  of: {
    results: readonly VariantResults<TrialResult>[];
    detectors: readonly DetectorTruth[];
    recommended: Pick<RecommendedSystem, 'choice'> | null;
  },
): Paragraph[] {
  const { results, detectors, recommended: system } = of;
  const [first] = results[0].trials;
  const { threads, part } = first;
  const decided = isCrossFitted(first) ? 'labelled' : part;
  const unlike = mean(results.flatMap(({ trials }) => trials.map(({ unlikeTraining }) => unlikeTraining)));
  const seeds = Math.max(...results.map(({ trials }) => trials.length));
  return present<Paragraph>([
    ...detectors.map(
      ({ problem, variants }) => problem !== null && variants && { warning: `${variants.join(', ')}: ${problem}` },
    ),
    threads[part] < fewestItems && {
      warning: `${counted(threads[part], `${decided} thread`)} ${threads[part] === 1 ? 'is' : 'are'} too few for intervals; give at least ${fewestItems}, better 100.`,
    },
    unlike > manyFlagged && {
      warning: `${percent(unlike)} of the ${decided} threads are out of distribution: the words of their first posts differ from those of the training threads. Of similar threads, 5% would be flagged. Expect the detector to be worse here.`,
    },
    part === 'development' && {
      warning: 'The development part was decided. Choose settings on it, then decide the test part once.',
    },
    ...agents.map((agent) => {
      const { mostCommonStop } = agent.agent;
      const [trial] = agent.trials;
      const { alerts } = trial.ranking;
      if (!isCollapsed({ mostCommonStop, alerts })) return false;
      return { warning: `${agentTitle(agent)} ${collapseInWords(mostCommonStop, trial)}` };
    }),
    system?.choice ?? null,
    ...learningCurveNotes(results),
    agents.length <= namedAtMost && thresholdsInWords(agents),
    ...detectors.map(detectorTruthLine),
    raisesAlerts(agents)
      ? 'F latency: F1 of the alerts, times how early the true ones come. ERDE 50: what false, missed and late alerts cost, where an alert after 50 posts is half as bad as a missed one; lower is better. Precision and recall are those of alerts. The row below each agent is the rule with the best F latency that queries no more.'
      : `Earliness is the share of a thread’s posts that is read. Mixture is the macro-F1 of the best mixture of rules with the same earliness and queries. Lead is the agent’s macro-F1 above that, with its 95% interval ${seeds === 1 ? 'over threads, for this one seed' : 'over seeds and threads; ± is the standard deviation over seeds'}. The row below each agent is the best rule that reads and queries no more.`,
  ]);
}

/** The gain of more labels so far, and an outlook to further ones. */
function learningCurveNotes(results: readonly VariantResults<TrialResult>[]): string[] {
  return results.flatMap(({ variant, trials }) => {
    const { learningCurve = null, seed } = trials.find((trial) => trial.learningCurve !== null) ?? {};
    if (learningCurve === null) return [];
    const words = learningCurveInWords(learningCurve, trials.length > 1 ? seed : undefined);
    return [`${results.length > 1 ? `${variant}: ` : ''}${words}`];
  });
}

/** Where agents stop on their scores. */
function thresholdsInWords(agents: readonly RankedAgent[]): string {
  const { alerts } = agents[0].trials[0].ranking;
  const alerting = alerts === undefined ? '' : ` and whose prediction is ${alerts.join(' or ')}`;
  const thresholds = agents.map((agent) => {
    const scores = [...new Set(agent.trials.map(({ threshold }) => shownScore(threshold)))].join(', ');
    return agents.length > 1 ? `${scores} of ${agentTitle(agent)}` : scores;
  });
  if (agents.length === 1)
    return `The agent stops at the first post whose score exceeds its threshold of ${thresholds[0]}${alerting}.`;
  return `An agent stops at the first post whose score exceeds its threshold${alerting}. Thresholds: ${thresholds.join('; ')}.`;
}

/** Thresholds of more agents than these would fill the screen. */
const namedAtMost = 5;

/**
 * The guarantee of the first agent that was tested by one, and what it saves as a mean over seeds; that none could be shown; or nothing
 * where none was asked for.
 */
export function guaranteeSentence(results: readonly VariantResults<TrialResult>[]): string {
  for (const { variant, trials } of results) {
    const deployed = deployedRuns(trials);
    const guarantees = deployed.flatMap((path) => testedGuarantee({ path }) ?? []);
    if (guarantees.length === 0) continue;
    const rates = guarantees.map(({ er }) => er);
    const sentence = guaranteeInWords({ ...guarantees[0], er: mean(rates) });
    const notes = present([
      results.length > 1 && variant,
      rates.length < deployed.length && `${rates.length} of ${deployed.length} seeds; the others have no guarantee`,
      rates.length > 1 &&
        `mean of ${rates.length} seeds, which read ${percent(Math.min(...rates))} to ${percent(Math.max(...rates))}`,
    ]);
    return `${sentence}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}. `;
  }
  const isUnshown = results.some(({ trials }) => unshownGuarantees(trials) !== null);
  return isUnshown ? 'No guarantee could be shown. ' : '';
}

/** The runs that are deployed for these trials: of cross-fitted seeds one for all. */
function deployedRuns(trials: readonly TrialResult[]): string[] {
  return [...new Set(trials.map(({ directory }) => deployedRun(directory)))];
}

/** Why runs have no guarantee that was asked for: in full of the first, and of the others what can be shown. */
export function unshownGuarantees(trials: readonly TrialResult[]): Paragraph | null {
  const unshown = deployedRuns(trials).flatMap((path) => {
    const reason = unshownGuaranteeFile.find({ path });
    return reason === null ? [] : [{ path, ...reason }];
  });
  if (unshown.length === 0) return null;
  const [first, ...others] = unshown;
  const remedies = others.map(({ path, remedy }) => ` ${path}: ${remedy}.`);
  return { warning: `No guarantee could be shown for ${first.path}: ${first.reason}.${remedies.join('')}` };
}
