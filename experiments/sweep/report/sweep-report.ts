import { present } from '../../../src/present.ts';
import type { Paragraph, Report, ReportSection } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { type ShownMetric, systemsTable, type Table } from '../../report/table.ts';
import { type MetricFacts, shownMetrics } from '../../run/metric.ts';
import { trialId } from '../../run/trial.ts';
import { isShown } from '../../stop-agent/decisions.ts';
import { type Leader, whyNone } from '../leader.ts';
import { type SweepPlan, shortNames, shownValue, sizeOf } from '../plan.ts';
import { estimateOf, type SeedInterval } from '../seed-interval.ts';
import { bestAndWorst, type Sensitivity } from '../sensitivity.ts';
import { type SettingSummary, type SweepPoint, type SystemMean, type TrialRow, whereTrained } from '../trial-rows.ts';
import { sweepCharts } from './sweep-charts.ts';

/** Everything that the report of a sweep shows. */
export interface SweepResult {
  readonly plan: SweepPlan;
  readonly command: string;
  readonly rows: readonly TrialRow[];
  readonly settings: readonly SettingSummary[];
  readonly front: readonly SweepPoint[];
  readonly sensitivities: readonly Sensitivity[];
  readonly leader: Leader | null;
  /** Test scores of the leading setting and of the baselines beside it; empty without a leader. */
  readonly tested: readonly SystemMean[];
}

/** Metrics that the first tables have room for. */
const metricsFirst = ['macroF1', 'er', 'queriesPerThread', 'veracity.macroF1', 'stance.macroF1'];

/** Settings in the first table; the section and the table of trials have all of them. */
const settingsFirst = 8;

/** The report of a sweep: the leading setting and whether it is recommended, the test, every setting, the front, what each option changes. */
export function sweepReport(result: SweepResult): Report {
  const { plan, command, rows, settings, leader, sensitivities } = result;
  const failed = rows.filter(({ status }) => status === 'failed');
  const missing = rows.filter(({ status }) => status === 'missing').length;
  const conclusion = leader?.conclusion.replace(/^no /, 'No ') ?? `Nothing is recommended: ${whyNone(plan, settings)}`;
  return {
    ...{ title: plan.name, description: plan.description, command },
    conclusion: `${conclusion}.`,
    tables: [rankedTable(result), ...testTables(result)],
    notes: present<Paragraph>([
      `${rows.length} trials: ${countsOf(rows)}.`,
      missing > 0 && { warning: `${missing} trials are missing: give the command again to run them.` },
      leader && present([!leader.isToldApart && `${leader.setting.label} is the highest.`, ...leader.why]).join(' '),
    ]),
    next: [],
    facts: present([sizeOf(plan), whereTrained(rows)]),
    sections: present([
      leader && leaderSection(result, leader),
      {
        id: 'settings',
        title: 'Settings, on the development part',
        blocks: ['Mean and 95% interval over seeds (Student’s t, cut at what is possible).', settingsTable(result)],
      },
      frontSection(result),
      sensitivities.length > 0 && sensitivitySection(result),
      failed.length > 0 && failedSection(failed),
    ]),
    async page() {
      const figures = sweepCharts(result);
      return figures.length === 0 ? [] : [{ id: 'charts', title: 'Charts', blocks: [{ figures }] }];
    },
  };
}

/** How many trials stand how, as `5 finished, 1 failed`. */
export function countsOf(rows: readonly TrialRow[]): string {
  return (['finished', 'failed', 'missing'] as const)
    .map((status) => ({ status, count: rows.filter((row) => row.status === status).length }))
    .filter(({ status, count }) => count > 0 || status === 'finished')
    .map(({ status, count }) => `${count} ${status}`)
    .join(', ');
}

function estimates(values: Readonly<Record<string, SeedInterval | null>>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value && estimateOf(value)]));
}

const queriesMetric = 'queriesPerThread';

/** Metrics as columns. The cost of queries hardly varies over seeds, and an interval would only widen the table. */
function tabled(metrics: readonly MetricFacts[]): ShownMetric[] {
  return metrics.map((metric) => ({ ...metric, shows: metric.name === queriesMetric ? 'mean' : undefined }));
}

/** Metrics of the first tables, of which only the aim has its interval. */
function shortMetrics({ kind }: SweepPlan, aim: string | null): ShownMetric[] {
  const metrics = kind.metrics.filter(({ name }) => metricsFirst.includes(name));
  return metrics.map((metric) => ({ ...metric, shows: metric.name === aim ? 'interval' : 'mean' }));
}

/** The best settings on the development part. */
function rankedTable({ plan, settings, leader }: SweepResult): Table {
  const metrics = shortMetrics(plan, plan.aim);
  const isMetric = metrics.some(({ name }) => name === plan.aim);
  const ranked = settings
    .flatMap((setting) => (setting.objective === null ? [] : [{ setting, objective: setting.objective }]))
    .sort((a, b) => b.objective.mean - a.objective.mean);
  const rows = ranked.slice(0, settingsFirst).map(({ setting, objective }) => ({
    name: `${setting === leader?.setting ? '→ ' : ''}${setting.label}`,
    isMarked: setting === leader?.setting,
    values: { ...setting.values, [plan.aim]: estimateOf(objective) },
  }));
  const more =
    ranked.length > settingsFirst ? [{ name: `… and ${ranked.length - settingsFirst} more`, values: {} }] : [];
  const columns = isMetric ? metrics : [{ name: plan.aim, title: 'objective', decimals: 3 }, ...metrics];
  return systemsTable([...rows, ...more], columns, { first: 'setting, on the development part' });
}

/** The leading setting on the test, beside what a reader would use instead. */
function testTables({ plan, leader, tested }: SweepResult): Table[] {
  if (leader === null) return [];
  const rows = besideOnTest(tested).map(({ name, role, values }) => ({
    name: role === 'learnt' ? leader.setting.label : name,
    isMarked: role === 'learnt',
    values,
  }));
  return [systemsTable(rows, shortMetrics(plan, null), { first: 'on the test, which chose nothing' })];
}

/** The learnt system, the best baselines that are as early and query as seldom, and all posts; of selectors all baselines. */
function besideOnTest(tested: readonly SystemMean[]): SystemMean[] {
  const baselines = tested.filter(({ role }) => role === 'baseline');
  const learnt = tested.filter(({ role }) => role === 'learnt');
  const mean = ({ values }: SystemMean, metric: string) => values[metric]?.mean;
  const [er, queries] = [mean(learnt[0], 'er'), mean(learnt[0], queriesMetric)];
  if (er === undefined || queries === undefined) return [...learnt, ...baselines];
  const isWithin = (system: SystemMean, metric: string, most: number) => (mean(system, metric) ?? most) <= most + 1e-9;
  const best = baselines
    .filter((system) => isWithin(system, 'er', er) && isWithin(system, queriesMetric, queries))
    .sort((a, b) => (mean(b, 'macroF1') ?? 0) - (mean(a, 'macroF1') ?? 0))
    .slice(0, 1);
  return [...learnt, ...best, ...baselines.filter(({ name }) => name === 'all posts')];
}

function leaderSection({ plan, tested }: SweepResult, { setting, isToldApart }: Leader): ReportSection {
  const systems = tested.filter(({ name }) => isShown(name));
  const runs = setting.rows.map(({ trial }) => `\`${trialId(trial)}\` (seed ${trial.seed})`);
  const rows = systems.map(({ name, role, values }) => ({
    name,
    isMarked: role === 'learnt',
    values: { ...estimates(values), ...(role === 'oracle' && { [queriesMetric]: null }) },
  }));
  return {
    id: 'leader',
    title: isToldApart ? 'Recommended' : 'Highest, but not told apart',
    blocks: present([
      `**${setting.label}** (\`${setting.name}\`). Its runs: ${runs.join(', ')}.`,
      'On the test, which no choice was made by:',
      systemsTable(rows, tabled(shownMetrics(plan.kind.metrics, rows))),
      systems.length < tested.length && 'Rules of other numbers are on the front and in `report.json`.',
    ]),
  };
}

/** Notes beside the numbers of a setting. */
function notesOn(setting: SettingSummary, { leader, front, plan }: SweepResult): string {
  const isOnFront = front.some((system) => system.isSwept && system.isOnFront && system.name === setting.label);
  const isRefused = plan.sweep.objective.where.length > 0 && setting.isComplete && !setting.isAllowed;
  return present([
    leader?.setting === setting && (leader.isToldApart ? '**recommended**' : 'highest'),
    isOnFront && 'on the front',
    isRefused && 'does not meet the conditions',
    !setting.isComplete && 'not complete',
  ]).join(', ');
}

function settingsTable(result: SweepResult): Table {
  const { plan, settings, leader } = result;
  const names = shortNames(plan.paths);
  // An aim that is an expression has a column of its own.
  const aim = plan.sweep.objective.maximise;
  const metrics = tabled(shownMetrics(plan.kind.metrics, settings));
  const scores = systemsTable(
    settings.map((setting) => ({
      name: setting.name,
      isMarked: leader?.setting === setting,
      values: { ...estimates(setting.values), objective: setting.objective && estimateOf(setting.objective) },
      further: [notesOn(setting, result)],
    })),
    present([aim !== null && { name: 'objective', title: aim, decimals: 3 }, ...metrics]),
    { first: 'setting', further: ['notes'] },
  );
  // The options of a setting stand between its name and its scores.
  const between = (first: string, options: readonly string[], rest: readonly string[]) => [first, ...options, ...rest];
  return {
    ...scores,
    heading: between(
      scores.heading[0],
      [...plan.paths.map((path) => names.get(path) ?? path), 'seeds'],
      scores.heading.slice(1),
    ),
    rows: scores.rows.map(([first, ...rest], index) => {
      const { point, objective } = settings[index];
      return between(
        first,
        [...plan.paths.map((path) => shownValue(point[path])), String(objective?.seeds ?? 0)],
        rest,
      );
    }),
  };
}

function frontSection({ front }: SweepResult): ReportSection | null {
  if (front.length === 0) return null;
  const rows = front
    .filter(({ isOnFront }) => isOnFront)
    .sort((a, b) => a.er - b.er || b.macroF1 - a.macroF1)
    .map(({ name, isSwept, macroF1, er, queries }) => ({
      name,
      isMarked: isSwept,
      values: { macroF1: { mean: macroF1 }, er: { mean: er }, queries: { mean: queries } },
    }));
  const metrics = [
    { name: 'macroF1', title: 'macro-F1', decimals: 3 },
    { name: 'er', title: 'earliness', decimals: 3 },
    { name: 'queries', title: 'queries per thread', decimals: 1 },
  ];
  const explained = 'Systems that no other beats in macro-F1 and earliness alike.';
  return {
    id: 'pareto',
    title: 'Pareto front, on the development part',
    blocks: [explained, systemsTable(rows, metrics)],
  };
}

function sensitivitySection({ plan, sensitivities }: SweepResult): ReportSection {
  const names = shortNames(plan.paths);
  const table = {
    heading: ['option', 'best mean', 'worst mean', 'spread', 'share of variance'],
    texts: ['best mean', 'worst mean'],
    rows: sensitivities.map(({ path, groups, spread, explained }) => {
      const { best, worst } = bestAndWorst(groups);
      return [
        names.get(path) ?? path,
        `${best.mean.toFixed(3)} at ${best.values}`,
        `${worst.mean.toFixed(3)} at ${worst.values}`,
        spread.toFixed(3),
        explained === null ? '–' : percent(explained),
      ];
    }),
  };
  const explained = `How ${plan.aim} on the development part varies with each option, averaged over all others. The share is that of the variance over all trials, seeds included.`;
  return { id: 'sensitivity', title: 'Sensitivity', blocks: [explained, table] };
}

function failedSection(failed: readonly TrialRow[]): ReportSection {
  const blocks = failed.map(({ trial, message }) => {
    const [headline] = (message ?? '').split('\n');
    return `\`${trialId(trial)}\` (${trial.label}): ${headline}`;
  });
  return { id: 'failed', title: 'Failed trials', blocks };
}
