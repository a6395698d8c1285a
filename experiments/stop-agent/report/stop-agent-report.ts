import { guaranteeInWords } from '../../../checkpoints/policy/guarantee.ts';
import { manyFlagged } from '../../../checkpoints/policy/out-of-distribution.ts';
import { allPosts } from '../../../checkpoints/policy/rules.ts';
import { counted } from '../../../src/counted.ts';
import { fewestItems } from '../../../src/metrics/bootstrap.ts';
import { mean, meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { quoted } from '../../../src/shell-words.ts';
import { kindReport, provenanceFacts, type ReportSource } from '../../report/kind-report.ts';
import type { PageParts, Paragraph, Report, ReportSection, ReportTable } from '../../report/report.ts';
import { type Estimate, percent } from '../../report/shown-numbers.ts';
import { systemsTable } from '../../report/systems-table.ts';
import { agentName, isLearnt, isShown } from '../decisions.ts';
import { taskOf } from '../experiment.ts';
import { guaranteesFile } from '../guarantee-file.ts';
import { testedGuarantee } from '../operating-point.ts';
import { readTrialResult, type TrialResult, trialJson } from '../result.ts';
import { optimumName } from '../stream-optimum.ts';
import { isCollapsed, type RankedAgent, rankedAgents, ruleInPlace, type SystemSummary } from './agents.ts';
import { detectorTruthLine, detectorTruthSections, detectorTruths } from './detector-truth.ts';
import { inspectedRuns, inspectorData, inspectorSection } from './inspector.ts';
import { systemCharts } from './operating-points.ts';
import { readRuns } from './read-runs.ts';
import { agentTitle, leadInWords, type RecommendedSystem, recommendedSystem } from './recommended-system.ts';
import { stopsSection } from './stops.ts';
import { stopSystemsTable } from './systems-table.ts';
import { thresholdPoints } from './threshold-points.ts';
import { trainingSection } from './training.ts';

export const stopAgentReport = kindReport({
  read: (run) => readTrialResult(run, { withIntervals: true }),
  json: trialJson,
  of: reportOf,
});

/** What was trained in every variant, beside the rules. */
export function reportOf(
  { name, description, command, variants, cache }: ReportSource,
  results: Parameters<typeof rankedAgents>[0],
): Report & { readonly recommended: Pick<RecommendedSystem, 'variant' | 'system' | 'run'> } {
  const agents = rankedAgents(results);
  const [{ threads, threadFile, part }] = results[0].trials;
  const seeds = Math.max(...results.map(({ trials }) => trials.length));
  const guarantee = leadSentence(results);
  const recommended = recommendedSystem(agents, { hasGuarantee: guarantee !== '' });
  const { sentence, choice, cards, variant, system, run } = recommended;
  const detectors = detectorTruths(results);
  const problem = detectors.find((truth) => truth.variants === null)?.problem ?? null;
  return {
    ...{ title: name, description, command, cards },
    recommended: { variant, system, run },
    // A policy is as good as the detector behind it.
    conclusion: `${guarantee}${problem ?? sentence}`,
    tables: [agentsTable(agents, recommended)],
    notes: [
      ...guaranteeNotes(results.flatMap(({ trials }) => trials)),
      ...(problem === null ? [] : [sentence]),
      ...detectors.flatMap((truth): Paragraph[] =>
        truth.problem === null || truth.variants === null
          ? []
          : [{ warning: `${truth.variants.join(', ')}: ${truth.problem}` }],
      ),
      ...(threads[part] < fewestItems
        ? [
            {
              warning: `${counted(threads[part], `${part} thread`)} ${threads[part] === 1 ? 'is' : 'are'} too few for intervals; give at least ${fewestItems}, better 100.`,
            },
          ]
        : []),
      ...outOfDistributionWarning(results.flatMap(({ trials }) => trials)),
      ...(part === 'test'
        ? []
        : [{ warning: 'The development part was decided. Choose settings on it, then decide the test part once.' }]),
      ...agentNotes(agents),
      choice,
      ...detectors.map(detectorTruthLine),
      raisesAlerts(agents)
        ? 'F latency: F1 of the alerts, times how early the true ones come. ERDE 50: what false, missed and late alerts cost, where an alert after 50 posts is half as bad as a missed one; lower is better. Precision and recall are those of alerts.'
        : `Earliness is the share of a thread’s posts that is read. Lead is the macro-F1 above every mixture of rules with the same earliness and queries, with its 95% interval ${seeds === 1 ? 'over threads, for this one seed' : 'over seeds and threads; ± is the standard deviation over seeds'}. The row below each agent is the best rule that reads and queries no more.`,
      ...(agents.length > shownAgents
        ? [`The table has the first ${shownAgents} of ${agents.length} agents; “Every system” in the report has all.`]
        : []),
    ],
    next: nextCommands(recommended, threadFile),
    facts: [
      ...provenanceFacts(variants, threadFile ?? 'a synthetic stream'),
      `threads: ${Object.entries(threads)
        .map(([own, count]) => `${own} ${count}`)
        .join(', ')}`,
      `seeds: ${[...new Set(results.flatMap(({ trials }) => trials.map(({ seed }) => seed)))].join(', ')}`,
    ],
    sections: [
      systemsSection(agents),
      rulesSection(agents),
      ...sampledSection(agents),
      demonstrationsSection(agents),
      ...detectorTruthSections(detectors),
    ],
    page: () => pageParts(agents, { command, cache, recommended }),
  };
}

async function pageParts(
  agents: readonly RankedAgent[],
  { command, cache, recommended }: { command: string; cache: string; recommended: RecommendedSystem },
): Promise<PageParts> {
  const runs = await readRuns(agents);
  const { labels } = taskOf(runs[0].experiment);
  const { forest, fronts } = systemCharts(agents, { command, recommended, thresholds: thresholdPoints(runs) });
  const inspected = await inspectedRuns(runs, cache);
  const inspector = inspectorData(inspected.runs, { labels });
  const sections = [
    { id: 'front', title: 'Pareto front', blocks: [{ figures: fronts }] },
    stopsSection(runs, labels),
    inspectorSection(inspector, inspected.notes),
    trainingSection(runs),
  ];
  return { figures: forest, sections, data: { inspector, items: null } };
}

/** More agents than these stand in later tables alone. */
const shownAgents = 10;

/** A recommended rule, then the best agents, each with the rule that could take its place. */
function agentsTable(agents: readonly RankedAgent[], recommended: Pick<RecommendedSystem, 'system'>): ReportTable {
  const rowOf = (name: string, { values, queries }: SystemSummary, lead: Estimate | null = null) => {
    const { macroF1, er, queriesPerThread, ...others } = values;
    return {
      name,
      values: {
        ...others,
        macroF1,
        er: er && { mean: er.mean },
        queries: queriesPerThread === null || queries === 'oracle' ? null : { mean: queriesPerThread.mean },
        lead: lead && { ...lead, deviation: null },
      },
    };
  };
  const rows = agents.slice(0, shownAgents).flatMap(({ variant, agent, systems, margins }) => {
    const rule = ruleInPlace(systems);
    return [
      { ...rowOf(variant === 'agent' ? agentName : variant, agent, margins.overEqualQueries), isMarked: true },
      ...(rule === undefined ? [] : [rowOf(`  ${rule.name}`, rule)]),
    ];
  });
  const { systems } = agents[0];
  const beside = systems.filter(({ name }) => name === allPosts.name || name === optimumName);
  const rule = systems.find(({ name }) => name === recommended.system && !isLearnt(name) && name !== allPosts.name);
  return systemsTable(
    [
      ...(rule === undefined ? [] : [{ ...rowOf(rule.name, rule), isMarked: true }]),
      ...rows,
      ...beside.map((system) => rowOf(system.name, system)),
    ],
    raisesAlerts(agents)
      ? [
          { name: 'latencyF1', title: 'F latency', decimals: 3 },
          { name: 'erde50', title: 'ERDE 50', decimals: 3 },
          { name: 'alertPrecision', title: 'precision', decimals: 3 },
          { name: 'alertRecall', title: 'recall', decimals: 3 },
          { name: 'queries', title: 'queries', decimals: 1 },
        ]
      : [
          { name: 'macroF1', title: 'macro-F1', decimals: 3 },
          { name: 'er', title: 'earliness', decimals: 3 },
          { name: 'queries', title: 'queries', decimals: 1 },
          { name: 'lead', title: 'lead', decimals: 3, isDifference: true },
        ],
  );
}

/** Whether some labels of the task raise alerts, which other numbers speak of than of early decisions. */
function raisesAlerts([{ trials }]: readonly RankedAgent[]): boolean {
  return trials[0].ranking.alerts !== undefined;
}

/** More agents than these are counted instead of named. */
const namedAtMost = 5;

/** How each agent stands to rules, and which ones collapsed. */
function agentNotes(agents: readonly RankedAgent[]): Paragraph[] {
  const leads = agents.map(({ margins }) => margins.overEqualQueries);
  const count = (isMeant: (lead: Estimate | null) => boolean) => leads.filter(isMeant).length;
  const clauses = agents.map((agent, index) => {
    const lead = leads[index];
    return lead === null
      ? `${agentTitle(agent)} stops earlier than every rule with the same query budget`
      : `${agentTitle(agent)} has ${leadInWords(lead)} them`;
  });
  const counts = `of ${agents.length} agents, ${count((lead) => (lead?.interval?.low ?? 0) > 0)} are above them and ${count((lead) => (lead?.interval?.high ?? 0) < 0)} below, by intervals without 0`;
  return [
    ...(raisesAlerts(agents) ? [] : [leadsInWords()]),
    ...agents
      .filter(({ agent }) => isCollapsed(agent))
      .map((own) => {
        const { name, share } = own.agent.mostCommonStop;
        return { warning: `${agentTitle(own)} collapsed to a fixed rule (${percent(share)} stop at ${name}).` };
      }),
  ];

  function leadsInWords(): string {
    return `Beside the best rules with the same earliness and queries: ${agents.length > namedAtMost ? counts : clauses.join('; ')}.`;
  }
}

function outOfDistributionWarning(trials: readonly TrialResult[]): Paragraph[] {
  const unlike = mean(trials.map(({ unlikeTraining }) => unlikeTraining));
  if (unlike <= manyFlagged) return [];
  return [
    {
      warning: `${percent(unlike)} of the ${trials[0].part} threads are out of distribution: the words of their claims differ from those of the training threads. Of similar threads, 5% would be flagged. Expect the detector to be worse here.`,
    },
  ];
}

/** The guarantee of the first agent that was tested by one, and what it saves as a mean over seeds; empty where none was. */
function leadSentence(results: Parameters<typeof rankedAgents>[0]): string {
  for (const { variant, trials } of results) {
    const guarantees = trials.flatMap(({ directory: path }) => testedGuarantee({ path }) ?? []);
    if (guarantees.length === 0) continue;
    const rates = guarantees.map(({ er }) => er);
    const sentence = guaranteeInWords({ ...guarantees[0], er: mean(rates) });
    const notes = [
      ...(results.length > 1 ? [variant] : []),
      ...(rates.length > 1
        ? [`mean of ${rates.length} seeds, which read ${percent(Math.min(...rates))} to ${percent(Math.max(...rates))}`]
        : []),
    ];
    return `${sentence}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}. `;
  }
  return '';
}

/** What is guaranteed for each run, where the first sentence does not tell it all. */
function guaranteeNotes(trials: readonly TrialResult[]): string[] {
  const tested = trials.flatMap(({ directory: path }) => {
    const guarantee = testedGuarantee({ path });
    return guarantee === null ? [] : [`${path} ${percent(guarantee.er)}`];
  });
  const later = trials.flatMap(({ directory: path }) => {
    const guarantee = guaranteesFile.find({ path })?.[agentName] ?? null;
    if (guarantee === null || testedGuarantee({ path }) !== null) return [];
    return [`Guarantee of ${path}: ${guaranteeInWords(guarantee)}. The tables here are of the agent without it.`];
  });
  return [...(tested.length > 1 ? [`Posts read with the guarantee, by run: ${tested.join(', ')}.`] : []), ...later];
}

/** Exports the system, and decides threads that are there: those of the experiment, or some that are made first. */
function nextCommands({ run, system }: RecommendedSystem, threadFile: string | null): string[] {
  const policy = `${quoted(run)}${system === agentName ? '' : ` --system ${quoted(system)}`}`;
  const path = threadFile ?? 'made-up.jsonl';
  return [
    `npx earshot export ${policy} --out policy`,
    ...(threadFile === null ? [`npx earshot data synth --threads 20 --seed 2 --out ${path}`] : []),
    `npx earshot decide ${quoted(path)} --policy ${policy}`,
    ...(threadFile === null ? ['npx earshot init # the same with your own threads'] : []),
  ];
}

/** Every system that tables show. */
function systemsSection(agents: readonly RankedAgent[]): ReportSection {
  const several = agents.length > 1;
  const [{ variant, systems }] = agents;
  const learnt = agents.flatMap((own) =>
    own.systems
      .filter(({ name }) => isLearnt(name))
      .map((system) => ({
        ...system,
        name: several ? `${system.name}: ${own.variant}` : system.name,
        isMarked: system.name === agentName,
      })),
  );
  const all = systems.filter(({ name }) => !isLearnt(name));
  const rules = all.filter(({ name }) => isShown(name));
  return {
    id: 'systems',
    title: 'Every system',
    blocks: [
      stopSystemsTable([...learnt, ...rules]),
      `Mean ± standard deviation over seeds. Queries are those of the detector: at the stop, and for confidence rules and detector-aware agents at the posts where they query it. The oracle sees the labels and is out of reach. Rules are those of the ${several ? `splits of the variant ${variant}` : 'same splits'}; of ${all.length} rules ${rules.length} are shown, and all are compared with below.`,
    ],
  };
}

function rulesSection(agents: readonly RankedAgent[]): ReportSection {
  const difference = { decimals: 3, isDifference: true };
  const rows = agents.map(({ variant: name, agent: { values }, margins }) => ({
    name,
    values: {
      ...margins,
      er: values.er && { mean: values.er.mean },
      queries: values.queriesPerThread && { mean: values.queriesPerThread.mean },
    },
  }));
  const metrics = [
    { name: 'er', title: 'earliness', decimals: 3 },
    { name: 'queries', title: 'queries per thread', decimals: 3 },
    { name: 'overBestRule', title: 'over the best rule of one query', ...difference },
    { name: 'overOneQuery', title: 'over rules of one query', ...difference },
    { name: 'overEqualQueries', title: 'over rules with the same query budget', ...difference },
    { name: 'overAnyQueries', title: 'over rules of any number of queries', ...difference },
  ];
  return {
    id: 'rules',
    title: 'Against rules with the same budget',
    blocks: [
      systemsTable(rows, metrics, { first: 'agent' }),
      'Macro-F1 above rules at the same earliness. The first such column compares with single rules, the others with every mixture of rules. Brackets hold 95% intervals by a bootstrap over seeds and the threads of each. Rules are picked by the scores that they are compared on, which favours them.',
    ],
  };
}

/** What the same agents would score if they drew their stops; nothing where no run kept its probabilities. */
function sampledSection(agents: readonly RankedAgent[]): ReportSection[] {
  const rows = agents.flatMap(({ variant: name, trials }) => {
    const known = trials.flatMap(({ sampled }) => sampled ?? []);
    if (known.length === 0) return [];
    const over = (metric: 'macroF1' | 'er' | 'queriesPerThread') => meanAndDeviation(known.map((own) => own[metric]));
    return [{ name, values: { macroF1: over('macroF1'), er: over('er'), queries: over('queriesPerThread') } }];
  });
  if (rows.length === 0) return [];
  const metrics = [
    { name: 'macroF1', title: 'macro-F1', decimals: 3 },
    { name: 'er', title: 'earliness', decimals: 3 },
    { name: 'queries', title: 'queries per thread', decimals: 1 },
  ];
  const explained =
    'Agents stop where π(stop) first exceeds their threshold. Here they stop at every post with probability π(stop), as in training: the exact expectation over all draws.';
  return [
    {
      id: 'sampled',
      title: 'If stops were sampled',
      blocks: [systemsTable(rows, metrics, { first: 'agent' }), explained],
    },
  ];
}

/** What the agents learnt from. */
function demonstrationsSection(agents: readonly RankedAgent[]): ReportSection {
  const rows = agents.map(({ variant, trials }) => [
    variant,
    ...['conservative', 'earlyAction', 'misleading'].map((expert) =>
      mean(trials.map(({ demonstrations }) => demonstrations[expert])).toFixed(1),
    ),
    percent(mean(trials.map(({ stopsAtFirstPost }) => stopsAtFirstPost.conservative))),
  ]);
  const heading = ['agent', 'conservative', 'early action', 'misleading', 'conservative that stop at the first post'];
  return { id: 'demonstrations', title: 'Demonstrations', blocks: [{ heading, rows }] };
}
