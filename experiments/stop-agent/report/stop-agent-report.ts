import { dirname, join } from 'node:path';
import { allPosts } from '../../../checkpoints/policy/rules.ts';
import { present } from '../../../src/present.ts';
import { quoted } from '../../../src/shell-words.ts';
import { imitatesExperts } from '../../../trainers/stop-agent/config.ts';
import { labelCommandFor } from '../../init/found-threads.ts';
import { curveCharts, loggedMetrics } from '../../report/charts/learning-curves.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import { kindReport, provenanceFacts, type ReportSource } from '../../report/kind-report.ts';
import type { Report, ReportSection } from '../../report/report.ts';
import { systemsTable, type Table } from '../../report/table.ts';
import { agentName, isLearnt, isShown } from '../decisions.ts';
import { taskOf } from '../experiment.ts';
import { labelsHelp } from '../learning-curve.ts';
import { alertMetricNames, type StopMetric } from '../metrics.ts';
import { policyFolderName } from '../policy/policy-folder.ts';
import { isCrossFitted, readTrialResult, type TrialResult, trialJson } from '../result.ts';
import { optimumName } from '../stream-optimum.ts';
import { type RankedAgent, raisesAlerts, rankedAgents, ruleInPlace } from './agents.ts';
import {
  guaranteeSentence,
  type RecommendedSystem,
  recommendedSystem,
  stopNotes,
  unshownGuarantees,
} from './conclusion.ts';
import { detectorTruthSections, detectorTruths } from './detector-truth.ts';
import { frontCharts, thresholdPoints } from './front.ts';
import { inspectedRuns, inspectorData, inspectorSection } from './inspector.ts';
import { predictionsSection } from './predictions.ts';
import { type ReadRun, readRuns } from './read-runs.ts';
import { ruleBudgets } from './rule-margins.ts';
import { stopSystemsTable } from './systems-table.ts';

export const stopAgentReport = kindReport({
  read: (run) => readTrialResult(run, { withIntervals: true }),
  json: trialJson,
  of: reportOf,
});

/** The report of every variant, beside the rules. */
export function reportOf(
  { name, description, command, variants, cache }: ReportSource,
  results: Parameters<typeof rankedAgents>[0],
): Report & { readonly recommended: Pick<RecommendedSystem, 'variant' | 'system' | 'run'> | null } {
  const agents = rankedAgents(results);
  const [first] = results[0].trials;
  const { threads: threadFile } = first.experiment.data;
  const detectors = detectorTruths(results);
  // A policy is as good as the detector behind it, so none is recommended where that guesses.
  const problem = detectors.find((truth) => truth.variants === null)?.problem ?? null;
  const recommended = problem === null ? recommendedSystem(agents) : null;
  const seeds = new Set(results.flatMap(({ trials }) => trials.map(({ seed }) => seed)));
  return {
    ...{ title: name, description, command },
    recommended: recommended && { variant: recommended.variant, system: recommended.system, run: recommended.run },
    conclusion: `${guaranteeSentence(results)}${problem ?? recommended?.sentence}`,
    tables: [agentsTable(agents, recommended)],
    notes: present([
      unshownGuarantees(results.flatMap(({ trials }) => trials)),
      ...stopNotes(agents, { results, detectors, recommended }),
      agents.length > shownAgents &&
        `The table has the first ${shownAgents} of ${agents.length} agents; “Every system” in the report has all.`,
    ]),
    next:
      recommended === null
        ? [`npx ${command}${isCrossFitted(first) ? ' --restart' : ''} # once more threads are labelled`]
        : [...nextCommands(recommended, { threadFile }), ...labelCommands(results)],
    facts: [
      ...provenanceFacts(variants, threadFile ?? 'a synthetic stream'),
      threadCounts(first),
      `seeds: ${[...seeds].join(', ')}`,
    ],
    sections: present([systemsSection(agents), rulesSection(agents), ...detectorTruthSections(detectors)]),
    page: () => pageSections(agents, { cache, recommended }),
  };
}

async function pageSections(
  agents: readonly RankedAgent[],
  { cache, recommended }: { cache: string; recommended: RecommendedSystem | null },
): Promise<ReportSection[]> {
  const runs = await readRuns(agents);
  const { labels, alerts } = taskOf(runs[0].result.experiment);
  const figures = frontCharts(agents, { recommended, thresholds: thresholdPoints(runs) });
  const inspected = await inspectedRuns(runs, cache);
  const inspector = inspectorData(inspected.runs, { labels, alerts });
  return present([
    { id: 'front', title: 'Pareto front', blocks: [{ figures }] },
    predictionsSection(runs, { labels, alerts }),
    inspectorSection(inspector, inspected.notes),
    // A cross-fitted seed trained several agents, one a fold.
    !isCrossFitted(runs[0].result) && trainingSection(runs),
  ]);
}

/** A line per run of each metric. */
function trainingSection(runs: readonly ReadRun[]): ReportSection {
  const logged = runs.map(({ variant, result: { seed, directory } }) => {
    return { variant, seed, metrics: loggedMetrics(directory) };
  });
  return { id: 'training', title: 'Training', blocks: [{ figures: curveCharts(logged) }] };
}

/** Numbers of threads by their use. */
function threadCounts(trial: TrialResult): string {
  if (!isCrossFitted(trial))
    return `threads: ${Object.entries(trial.threads)
      .map(([part, count]) => `${part} ${count}`)
      .join(', ')}`;
  const { test, environment, calibration } = trial.threads;
  const uses = present([
    `${test} labelled, each tested by a fold that has not seen it`,
    environment > 0 && `${environment} unlabelled that agents learn from`,
    calibration > 0 && `${calibration} unlabelled that calibrate the guarantee`,
  ]);
  return `threads: ${uses.join('; ')}`;
}

/** More agents than these stand in later tables alone. */
const shownAgents = 10;

const earliness = { name: 'er', title: 'earliness', decimals: 3, shows: 'mean' } as const;
const queries = { name: 'queriesPerThread', title: 'queries', decimals: 1, shows: 'mean' } as const;

/** Columns of the first table, where room is short. */
const firstMetrics = {
  early: [
    { name: 'macroF1', title: 'macro-F1', decimals: 3 },
    earliness,
    queries,
    { name: 'rules', title: 'mixture', decimals: 3, shows: 'mean' },
    { name: 'lead', title: 'lead', decimals: 3, isDifference: true, shows: 'interval' },
  ],
  alerts: [
    { name: 'latencyF1', title: 'F latency', decimals: 3 },
    { name: 'erde50', title: 'ERDE 50', decimals: 3 },
    { name: 'alertPrecision', title: 'precision', decimals: 3 },
    { name: 'alertRecall', title: 'recall', decimals: 3 },
    queries,
  ],
} as const;

/** A recommended rule, then the best agents, each with the rule that could take its place. */
function agentsTable(agents: readonly RankedAgent[], recommended: Pick<RecommendedSystem, 'system'> | null): Table {
  const rows = agents.slice(0, shownAgents).flatMap(({ variant, agent, systems, margins }) => {
    const name = variant === 'agent' ? agentName : variant;
    const lead = margins.overEqualQueries;
    const values = { ...agent.values, rules: lead?.rules.macroF1, lead };
    const rule = ruleInPlace(systems);
    return present([{ name, values, isMarked: true }, rule && { ...rule, name: `  ${rule.name}` }]);
  });
  const { systems } = agents[0];
  const beside = systems.filter(({ name }) => name === allPosts.name || name === optimumName);
  const rule = systems.find(({ name }) => name === recommended?.system && !isLearnt(name) && name !== allPosts.name);
  return systemsTable(
    present([rule && { ...rule, isMarked: true }, ...rows, ...beside]),
    firstMetrics[raisesAlerts(agents) ? 'alerts' : 'early'],
  );
}

/** Decides threads that are there, those of the experiment or some that are made first, with the policy that the training leaves. */
function nextCommands({ run }: RecommendedSystem, { threadFile }: { threadFile: string | null }): string[] {
  const policy = quoted(join(dirname(dirname(run)), policyFolderName));
  const path = threadFile ?? 'made-up.jsonl';
  return present([
    threadFile === null && `npx earshot data synth --threads 20 --seed 2 --out ${path}`,
    `npx earshot decide ${quoted(path)} --policy ${policy}${threadFile === null ? '' : ' --include-trained # or new threads'}`,
    `npx earshot serve ${policy}`,
    threadFile === null && 'npx earshot init # the same with your own threads',
  ]);
}

/** Labels the threads that have none, where the learning curve says that this helps. */
function labelCommands(results: readonly VariantResults<TrialResult>[]): string[] {
  const [{ learningCurve, experiment, threads }] = results[0].trials;
  const { threads: threadFile } = experiment.data;
  const isWorthIt =
    learningCurve !== null && labelsHelp(learningCurve) && threads.environment + threads.calibration > 0;
  return isWorthIt && threadFile !== null
    ? [`npx ${labelCommandFor(threadFile, taskOf(experiment).name)} # more labels are likely to help`]
    : [];
}

/** With alerts, two tables: how good they are; then how late, and what is decided of all threads. One would not fit on a page. */
const isWorthOfAlerts = ({ name }: StopMetric) => alertMetricNames.has(name) && !name.startsWith('median');
/** Of all threads, most of which are read to their end. */
const delays: ReadonlySet<string> = new Set(['delayPosts', 'delayHours', 'medianDelayHours', 'longDelayHours']);
const partsOfAlerts = [
  { only: isWorthOfAlerts, hasStops: false },
  { only: (metric: StopMetric) => !isWorthOfAlerts(metric) && !delays.has(metric.name) },
];

/** Every system that tables show. */
function systemsSection(agents: readonly RankedAgent[]): ReportSection {
  const several = agents.length > 1;
  const [{ variant, systems }] = agents;
  const learnt = agents.flatMap((agent) =>
    agent.systems
      .filter(({ name }) => name === agentName || (isLearnt(name) && imitatesExperts(agent.trials[0].experiment.agent)))
      .map((system) => ({
        ...system,
        name: several ? `${system.name}: ${agent.variant}` : system.name,
        isMarked: system.name === agentName,
      })),
  );
  const all = systems.filter(({ name }) => !isLearnt(name));
  const rules = all.filter(({ name }) => isShown(name));
  return {
    id: 'systems',
    title: 'Every system',
    blocks: [
      ...(raisesAlerts(agents) ? partsOfAlerts : [{}]).map((of) => stopSystemsTable([...learnt, ...rules], of)),
      `Mean ± standard deviation over seeds. Queries are those of the detector: at the stop, and for confidence rules and detector-aware agents at the posts where they query it. The oracle sees the labels and is out of reach. Rules are those of the ${several ? `splits of the variant ${variant}` : 'same splits'}; of ${all.length} rules ${rules.length} are shown${raisesAlerts(agents) ? '' : ', and all are compared with below'}.`,
    ],
  };
}

/** Null for alerts, whose worth and time are others than macro-F1 and earliness. */
function rulesSection(agents: readonly RankedAgent[]): ReportSection | null {
  if (raisesAlerts(agents)) return null;
  const rows = agents.flatMap(({ variant, agent, margins, trials }) => [
    { name: variant, values: agent.values, isMarked: true },
    ...ruleBudgets.map(([budget, title]) => {
      const lead = margins[budget];
      const { seeds = trials.length, rules = {} } = lead ?? {};
      const of = seeds === trials.length ? '' : ` (${seeds} of ${trials.length} seeds)`;
      return { name: `  ${title}${of}`, values: { ...rules, lead } };
    }),
  ]);
  const metrics = [
    { name: 'macroF1', title: 'macro-F1', decimals: 3 },
    earliness,
    { ...queries, title: 'queries per thread' },
    { name: 'lead', title: 'lead', decimals: 3, isDifference: true, shows: 'interval' as const },
  ];
  return {
    id: 'rules',
    title: 'Against rules with the same budget',
    blocks: [
      systemsTable(rows, metrics, { first: 'agent' }),
      'Below each agent stands what rules reach at the same earliness or an earlier one, and its lead over that in macro-F1. A mixture chooses one of two or three rules by chance for each thread. Brackets hold 95% intervals by a bootstrap over seeds and the threads of each. Rules are picked by the scores that they are compared on, which favours them.',
    ],
  };
}
