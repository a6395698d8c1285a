import { guaranteeInWords } from '../../../checkpoints/policy/guarantee.ts';
import { manyFlagged } from '../../../checkpoints/policy/out-of-distribution.ts';
import { counted } from '../../../src/counted.ts';
import { fewestItems } from '../../../src/metrics/bootstrap.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import type { Paragraph } from '../../report/report.ts';
import { directionOf, percent, shownScore } from '../../report/shown-numbers.ts';
import { learningCurveInWords } from '../learning-curve.ts';
import { testedGuarantee, unshownGuaranteeFile } from '../operating-point.ts';
import type { TrialResult } from '../result.ts';
import { deployedRun } from '../shipped-run.ts';
import { isCollapsed, type RankedAgent, raisesAlerts } from './agents.ts';
import { type DetectorTruth, detectorTruthLine } from './detector-truth.ts';
import { agentTitle, capitalAgent, leadInWords, type RecommendedSystem } from './recommended-system.ts';

/** What a reader must know of the first table: doubts about the numbers, how agents stand to rules, what the columns are. */
export function stopNotes(
  agents: readonly RankedAgent[],
  of: {
    results: readonly VariantResults<TrialResult>[];
    detectors: readonly DetectorTruth[];
    recommended: Pick<RecommendedSystem, 'choice'> | null;
  },
): Paragraph[] {
  const { results, detectors, recommended } = of;
  const [{ threads, part, isCrossFitted }] = results[0].trials;
  const decided = isCrossFitted ? 'labelled' : part;
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
    !raisesAlerts(agents) && `Beside the best rules with the same earliness and queries: ${leadsInWords(agents)}.`,
    ...agents.map((own) => {
      const { name, share } = own.agent.mostCommonStop;
      const fixed = `${agentTitle(own)} collapsed to a fixed rule (${percent(share)} stop at ${name}).`;
      const { alerts } = own.trials[0].ranking;
      return isCollapsed({ ...own.agent, alerts }) && { warning: fixed };
    }),
    recommended?.choice ?? null,
    ...learningCurveNotes(results),
    agents.length <= namedAtMost && thresholdsInWords(agents),
    ...detectors.map(detectorTruthLine),
    raisesAlerts(agents)
      ? 'F latency: F1 of the alerts, times how early the true ones come. ERDE 50: what false, missed and late alerts cost, where an alert after 50 posts is half as bad as a missed one; lower is better. Precision and recall are those of alerts. The row below each agent is the rule with the best F latency that queries no more.'
      : `Earliness is the share of a thread’s posts that is read. Mixture is the macro-F1 of the best mixture of rules with the same earliness and queries. Lead is the agent’s macro-F1 above that, with its 95% interval ${seeds === 1 ? 'over threads, for this one seed' : 'over seeds and threads; ± is the standard deviation over seeds'}. The row below each agent is the best rule that reads and queries no more.`,
  ]);
}

/** What more labels brought, and what further ones may bring. */
function learningCurveNotes(results: readonly VariantResults<TrialResult>[]): string[] {
  return results.flatMap(({ variant, trials }) => {
    const { learningCurve = null, seed } = trials.find((own) => own.learningCurve !== null) ?? {};
    if (learningCurve === null) return [];
    const words = learningCurveInWords(learningCurve, trials.length > 1 ? seed : undefined);
    return [`${results.length > 1 ? `${variant}: ` : ''}${words}`];
  });
}

/** Where agents stop on their scores. */
function thresholdsInWords(agents: readonly RankedAgent[]): string {
  const [{ trials }] = agents;
  const { alerts } = trials[0].ranking;
  const seeds =
    trials.length > 1 && !trials[0].isCrossFitted ? ` (seeds ${trials.map(({ seed }) => seed).join(', ')})` : '';
  const thresholds = agents.map((agent) => {
    const own = [...new Set(agent.trials.map(({ threshold }) => shownScore(threshold)))].join(', ');
    return agents.length > 1 ? `${own} of ${agentTitle(agent)}` : own;
  });
  const alerting = alerts === undefined ? '' : ` and whose prediction is ${alerts.join(' or ')}`;
  const [only] = thresholds;
  if (thresholds.length === 1 && !only.includes(','))
    return `${capitalAgent(agents[0])} stops at the first post whose score exceeds its threshold of ${only}${alerting}.`;
  return `${agents.length > 1 ? 'Each agent' : capitalAgent(agents[0])} stops at the first post whose score exceeds its threshold${alerting}. Thresholds: ${thresholds.join('; ')}${seeds}.`;
}

/** More agents than these are counted instead of named. */
const namedAtMost = 5;

/** How each agent stands to the best rules of its budget. */
function leadsInWords(agents: readonly RankedAgent[]): string {
  const leads = agents.map(({ margins }) => margins.overEqualQueries);
  if (agents.length > namedAtMost) {
    const directions = leads.map((lead) => directionOf(lead?.interval));
    const count = (wanted: number) => directions.filter((own) => own === wanted).length;
    return `of ${agents.length} agents, ${count(1)} are above them and ${count(-1)} below, by intervals without 0`;
  }
  const clauses = agents.map((agent, index) => {
    const lead = leads[index];
    return lead === null
      ? `${agentTitle(agent)} stops earlier than every rule with the same query budget`
      : `${agentTitle(agent)} has ${leadInWords(lead)} them`;
  });
  return clauses.join('; ');
}

/**
 * The guarantee of the first agent that was tested by one, and what it saves as a mean over seeds; that none could be shown; or nothing
 * where none was asked for.
 */
export function guaranteeSentence(results: readonly VariantResults<TrialResult>[]): string {
  for (const { variant, trials } of results) {
    const deployed = new Set(trials.map(({ directory }) => deployedRun(directory)));
    const guarantees = [...deployed].flatMap((path) => testedGuarantee({ path }) ?? []);
    if (guarantees.length === 0) continue;
    const rates = guarantees.map(({ er }) => er);
    const sentence = guaranteeInWords({ ...guarantees[0], er: mean(rates) });
    const notes = present([
      results.length > 1 && variant,
      rates.length < deployed.size && `${rates.length} of ${deployed.size} seeds; the others have no guarantee`,
      rates.length > 1 &&
        `mean of ${rates.length} seeds, which read ${percent(Math.min(...rates))} to ${percent(Math.max(...rates))}`,
    ]);
    return `${sentence}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}. `;
  }
  const isUnshown = results.some(({ trials }) =>
    trials.some(({ directory }) => unshownGuaranteeFile.find({ path: deployedRun(directory) })),
  );
  return isUnshown ? 'No guarantee could be shown. ' : '';
}

/** Why runs have no guarantee that was asked for: in full of the first, and of the others what can be shown. */
export function unshownGuarantees(trials: readonly TrialResult[]): Paragraph | null {
  const deployed = [...new Set(trials.map(({ directory }) => deployedRun(directory)))];
  const unshown = deployed.flatMap((path) => {
    const found = unshownGuaranteeFile.find({ path });
    return found === null ? [] : [{ path, ...found }];
  });
  if (unshown.length === 0) return null;
  const [first, ...others] = unshown;
  const remedies = others.map(({ path, remedy }) => ` ${path}: ${remedy}.`);
  return { warning: `No guarantee could be shown for ${first.path}: ${first.reason}.${remedies.join('')}` };
}

/** What is guaranteed for each run, where the first sentence does not tell it all. */
export function guaranteeNotes(trials: readonly TrialResult[]): string[] {
  const deployed = [...new Set(trials.map(({ directory }) => deployedRun(directory)))];
  const tested = deployed.flatMap((path) => {
    const guarantee = testedGuarantee({ path });
    return guarantee === null ? [] : [`${path} ${percent(guarantee.er)}`];
  });
  return tested.length > 1 ? [`Posts read with the guarantee, by run: ${tested.join(', ')}.`] : [];
}
