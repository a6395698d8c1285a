import { described, type ReportDocument, type ReportSection, type ReportTable } from '../../report/document.ts';
import { percent } from '../../report/shown-numbers.ts';
import { isShown } from '../../stop-agent/decisions.ts';
import type { FrontPoint } from '../front.ts';
import { type Leader, whyNone } from '../leader.ts';
import { type SweepPlan, shortNames, shownValue } from '../plan.ts';
import { type SettingSummary, type SystemMean, type TrialRow, whereTrained } from '../results.ts';
import { type SeedInterval, shownInterval } from '../seed-interval.ts';
import { bestAndWorst, type Sensitivity } from '../sensitivity.ts';
import { sizeOf } from '../trials-of-plan.ts';

/** Everything that the report of a sweep shows. */
export interface SweepReport {
  readonly plan: SweepPlan;
  readonly command: string;
  readonly rows: readonly TrialRow[];
  readonly settings: readonly SettingSummary[];
  readonly front: readonly FrontPoint[];
  readonly sensitivities: readonly Sensitivity[];
  readonly leader: Leader | null;
  /** What the leading setting and the baselines beside it score on the test; empty without a leader. */
  readonly tested: readonly SystemMean[];
}

/** What a sweep came to: the verdict, the leading setting on the test, every setting, the front, what each option changes. */
export function sweepDocument(report: SweepReport): ReportDocument {
  const { plan, command, rows, settings, leader } = report;
  const failed = rows.filter(({ status }) => status === 'failed');
  const missing = rows.filter(({ status }) => status === 'missing').length;
  return {
    title: plan.name,
    lead: [
      ...described(plan.description),
      { command },
      [`${sizeOf(plan)}. ${countsOf(rows)}.`, whereTrained(rows)].filter((part) => part !== null).join(' '),
      ...(missing === 0 ? [] : [`**${missing} trials are missing**: give the command again to run them.`]),
      leader === null ? `**Nothing is recommended**: ${whyNone(plan, settings)}.` : `**Verdict: ${leader.verdict}.**`,
    ],
    sections: [
      ...(leader === null ? [] : [leaderSection(report, leader)]),
      {
        id: 'settings',
        title: 'Settings, on the development part',
        blocks: ['Mean and 95 % interval over seeds (Student’s t, cut at what is possible).', settingsTable(report)],
      },
      ...frontSection(report),
      ...sensitivitySection(report),
      ...(failed.length === 0
        ? []
        : [
            {
              id: 'failed',
              title: 'Failed trials',
              blocks: failed.map(
                ({ trial, message }) => `\`${trial.id}\` (${trial.label}): ${firstLine(message ?? '')}`,
              ),
            },
          ]),
    ],
  };
}

/** How many trials stand how, as `5 finished, 1 failed`. */
export function countsOf(rows: readonly TrialRow[]): string {
  const counts = (['finished', 'stopped', 'failed', 'missing'] as const).map(
    (status) => [status, rows.filter((row) => row.status === status).length] as const,
  );
  const shown = counts.filter(([status, count]) => count > 0 || status === 'finished');
  return `${shown.map(([status, count]) => `${count} ${status === 'stopped' ? 'stopped at a rung' : status}`).join(', ')}`;
}

function leaderSection({ plan, tested }: SweepReport, { setting, why, isToldApart }: Leader): ReportSection {
  const metrics = plan.kind.metrics.filter((metric) => metric.isShown ?? true);
  const shown = tested.filter(({ name }) => isShown(name));
  const runs = setting.rows.map(({ trial }) => `\`trials/${trial.id}\` (seed ${trial.seed})`);
  return {
    id: 'leader',
    title: isToldApart ? 'Recommended' : 'Highest, but not told apart',
    blocks: [
      `**${setting.label}** (\`${setting.id}\`)`,
      why.join(' '),
      `Its runs: ${runs.join(', ')}.`,
      'On the test, which no choice was made by:',
      {
        heading: ['system', ...metrics.map(({ title }) => title)],
        rows: shown.map(({ name, role, values }) => [
          role === 'learnt' ? `**${name}**` : name,
          ...metrics.map(({ name: metric, decimals }) => {
            const value = values[metric] ?? null;
            return role === 'oracle' && metric === callsMetric ? '–' : shownMetric(metric, { value, decimals });
          }),
        ]),
      },
      ...(shown.length < tested.length ? ['Rules of other numbers are on the front and in `report.json`.'] : []),
    ],
  };
}

/** What is to be said of a setting beside its numbers. */
function notesOn({ leader, front, plan }: SweepReport): (setting: SettingSummary) => string[] {
  const onFront = new Set(front.filter(({ isSwept, isOnFront }) => isSwept && isOnFront).map(({ name }) => name));
  const hasConditions = plan.sweep.objective.where.length > 0;
  return (setting) => [
    ...(leader?.setting === setting ? [leader.isToldApart ? 'recommended' : 'highest'] : []),
    ...(onFront.has(setting.label) ? ['on the front'] : []),
    ...(hasConditions && setting.isComplete && !setting.isAllowed ? ['does not meet the conditions'] : []),
    ...(setting.isComplete ? [] : ['not complete']),
  ];
}

function settingsTable(report: SweepReport): ReportTable {
  const { plan, settings, leader } = report;
  const notes = notesOn(report);
  const metrics = plan.kind.metrics.filter((metric) => metric.isShown ?? true);
  const names = shortNames(plan.paths);
  // An aim that is an expression has a column of its own.
  const aim = plan.sweep.objective.maximise;
  return {
    heading: [
      'setting',
      ...plan.paths.map((path) => names.get(path) ?? path),
      'seeds',
      ...(aim === null ? [] : [aim]),
      ...metrics.map(({ title }) => title),
      'notes',
    ],
    texts: ['notes'],
    rows: settings.map((setting) => [
      `\`${setting.id}\``,
      ...plan.paths.map((path) => shownValue(setting.point[path])),
      String(setting.objective?.seeds ?? 0),
      ...(aim === null ? [] : [setting.objective === null ? '–' : shownInterval(setting.objective, 3)]),
      ...metrics.map(({ name, decimals }) => shownMetric(name, { value: setting.values[name], decimals })),
      notes(setting)
        .map((note) => (note === 'recommended' ? `**${note}**` : note))
        .join(', '),
    ]),
    isMarked: (row) => leader?.setting === settings[row],
  };
}

function frontSection({ front }: SweepReport): ReportSection[] {
  if (front.length === 0) return [];
  const shownPoints = front
    .filter(({ isOnFront, isOnFrontWithCalls }) => isOnFront || isOnFrontWithCalls)
    .sort((a, b) => a.er - b.er || b.macroF1 - a.macroF1);
  const columns = ['front of macro-F1 and ER', '… and calls'];
  const table = {
    heading: ['system', 'macro-F1', 'ER', 'calls a thread', ...columns],
    texts: columns,
    rows: shownPoints.map(({ name, isSwept, macroF1, er, calls, isOnFront, isOnFrontWithCalls }) => [
      isSwept ? `**${name}**` : name,
      macroF1.toFixed(3),
      er.toFixed(3),
      calls.toFixed(1),
      isOnFront ? 'yes' : '',
      isOnFrontWithCalls ? 'yes' : '',
    ]),
  };
  const explained =
    'Systems that no other beats in macro-F1 and ER alike; the last column counts detector calls as a third aim.';
  return [{ id: 'pareto', title: 'Pareto front, on the development part', blocks: [explained, table] }];
}

function sensitivitySection({ plan, sensitivities }: SweepReport): ReportSection[] {
  if (sensitivities.length === 0) return [];
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
  return [{ id: 'sensitivity', title: 'Sensitivity', blocks: [explained, table] }];
}

const callsMetric = 'callsPerThread';

/** What calls cost hardly varies over seeds; an interval would only widen the table. */
function shownMetric(metric: string, { value, decimals }: { value: SeedInterval | null; decimals: number }): string {
  if (value === null) return '–';
  return metric === callsMetric ? value.mean.toFixed(decimals) : shownInterval(value, decimals);
}

function firstLine(text: string): string {
  return text.split('\n')[0];
}
