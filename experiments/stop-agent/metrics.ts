import { InputError } from '../../src/errors.ts';
import { classificationScores, macroF1 } from '../../src/metrics/classification.ts';
import { earlyRate, meanDelay, mostCommonStopShare } from '../../src/metrics/earliness.ts';
import {
  type AlertDecisions,
  alertRates,
  alertSpeed,
  erde,
  latencyWeightedF1,
  medianAlertDelay,
} from '../../src/metrics/early-alerts.ts';
import { quantile } from '../../src/metrics/summary-statistics.ts';
import { type Metric, valuesOf } from '../run/metric.ts';
import { intervalsOf, type Scoring } from '../run/scoring.ts';
import { type Costs, predictionCost, readingCost, wrongCosts } from './costs.ts';
import type { Decision, QueryKind, SystemDecisions } from './decisions.ts';

/** The decisions of one system as columns, with one entry per test thread. */
export interface DecisionColumns {
  readonly gold: readonly number[];
  /** −1 where the answer of the detector could not be parsed. */
  readonly predicted: readonly number[];
  readonly postsUsed: readonly number[];
  readonly threadPosts: readonly number[];
  /** From the claim to the decision; null where a time is unknown. */
  readonly hours: readonly (number | null)[];
  /** Of the detector. */
  readonly queries: readonly number[];
  /** The cost of each decision by the user's costs; null without costs, or if hours cost something and are unknown. */
  readonly costs: readonly (number | null)[] | null;
  /** Whether each decision is an alert, and should be; null where no label of the task raises one. */
  readonly alerts: Pick<AlertDecisions, 'alerted' | 'positive'> | null;
  /** Number of labels of the task. */
  readonly classes: number;
  /** The threads that count, repetitions counting again (a bootstrap sample). */
  readonly items: Int32Array;
}

/** One number that stops come to. */
export type StopMetric = Metric<DecisionColumns>;

const share = { decimals: 3, range: [0, 1] } as const;
const amount = { decimals: 1, range: [0, Infinity] } as const;

const hidden = { ...share, isResampled: false, isShown: false };
const counted = { ...amount, isResampled: false };
type AlertMetric = readonly [
  name: string,
  title: string,
  facts: Omit<StopMetric, 'name' | 'title' | 'of'>,
  of: (alerts: AlertDecisions) => number | null,
];

/** Metrics of alerts; null where no label of the task raises one. */
const alertMetrics = (
  [
    ['erde5', 'ERDE 5', share, (alerts) => erde(alerts, { deadline: 5 })],
    ['erde50', 'ERDE 50', share, (alerts) => erde(alerts, { deadline: 50 })],
    ['erde5Hours', 'ERDE 5 h', hidden, (alerts) => erde(alerts, { deadline: 5, unit: 'hours' })],
    ['erde50Hours', 'ERDE 50 h', hidden, (alerts) => erde(alerts, { deadline: 50, unit: 'hours' })],
    ['latencyF1', 'F latency', share, (alerts) => latencyWeightedF1(alerts)],
    ['alertSpeed', 'speed', hidden, (alerts) => alertSpeed(alerts)],
    ['alertPrecision', 'alert precision', share, (alerts) => alertRates(alerts).precision],
    ['alertRecall', 'alert recall', share, (alerts) => alertRates(alerts).recall],
    ['alertsPerThousand', 'alerts per 1,000', counted, (alerts) => alertRates(alerts).perThousandThreads],
    ['medianAlertPosts', 'true alert, posts', counted, (alerts) => medianAlertDelay(alerts).posts],
    ['medianAlertHours', 'true alert, hours', counted, (alerts) => medianAlertDelay(alerts).hours],
  ] satisfies AlertMetric[]
).map(([name, title, facts, of]): StopMetric => {
  return {
    name,
    title,
    ...facts,
    of: ({ alerts, ...columns }) => (alerts === null ? null : of({ ...columns, ...alerts })),
  };
});

export const alertMetricNames: ReadonlySet<string> = new Set(alertMetrics.map(({ name }) => name));

/** Every metric of the stop agent, in the order of the tables. What is added here applies to old runs, too. */
export const stopMetrics: readonly StopMetric[] = [
  { name: 'macroF1', title: 'macro-F1', ...share, of: macroF1 },
  { name: 'accuracy', title: 'accuracy', ...hidden, of: (columns) => classificationScores(columns).accuracy },
  { name: 'er', title: 'earliness', ...share, of: earlyRate },
  { name: 'expectedCost', title: 'cost', decimals: 3, range: [0, Infinity], of: meanCost },
  { name: 'delayPosts', title: 'delay, posts', ...counted, of: (columns) => meanDelay(columns).posts },
  { name: 'delayHours', title: 'delay, hours', ...counted, of: (columns) => meanDelay(columns).hours },
  { name: 'medianDelayHours', title: 'median', ...counted, of: (columns) => delayAt(columns, 0.5) },
  { name: 'longDelayHours', title: '90%', ...counted, of: (columns) => delayAt(columns, 0.9) },
  { name: 'queriesPerThread', title: 'queries per thread', ...amount, of: meanQueries },
  // The share of the queries that judging every post of every thread would take.
  {
    name: 'queriesSaved',
    title: 'queries saved',
    ...hidden,
    of: (columns) => 1 - total(columns.queries) / total(columns.threadPosts),
  },
  ...alertMetrics,
];

/** @param name one of them */
export function metricNamed(name: string): StopMetric {
  return stopMetrics.find((metric) => metric.name === name)!;
}

function meanQueries({ queries, items }: DecisionColumns): number {
  let sum = 0;
  for (let place = 0; place < items.length; place++) sum += queries[items[place]];
  return sum / items.length;
}

/** Null where a decision has no cost. */
function meanCost({ costs, items }: DecisionColumns): number | null {
  if (costs === null) return null;
  let sum = 0;
  for (const item of items) {
    const cost = costs[item];
    if (cost === null) return null;
    sum += cost;
  }
  return sum / items.length;
}

/** A quantile of the hours to the decision; null where no time is known. */
function delayAt({ hours }: DecisionColumns, share: number): number | null {
  const delays = hours.filter((delay) => delay !== null);
  return delays.length === 0 ? null : quantile(Float64Array.from(delays).sort(), share);
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The labels of a task, those that raise an alert, and the user's costs: the settings of scoring. */
export interface ScoredStops {
  /** In the order of the class indices. */
  readonly labels: readonly string[];
  /** Without them there are no metrics of alerts. */
  readonly alerts?: readonly string[] | undefined;
  /** Without them there is no expected cost. */
  readonly costs?: Costs | null;
}

/** How stops are scored. */
export function stopScoring(task: ScoredStops, metrics = stopMetrics): Scoring<Decision, DecisionColumns> {
  return {
    metrics,
    columnsOf: (decisions) => stopColumns(decisions, task),
    itemOf: ({ threadId }) => threadId,
  };
}

/** @throws InputError for a decision that its thread or the labels do not allow, which other programs may pass */
export function stopColumns(
  decisions: readonly Decision[],
  { labels, costs = null, alerts = [] }: ScoredStops,
): DecisionColumns {
  const refused = decisions.find(
    ({ gold, predicted, postsUsed, posts }) =>
      labels[gold] === undefined ||
      (predicted !== -1 && labels[predicted] === undefined) ||
      !(postsUsed >= 1 && postsUsed <= posts),
  );
  if (refused !== undefined)
    throw new InputError(
      `thread ${refused.threadId} cannot be scored: gold must be 0 to ${labels.length - 1}, predicted the same or −1, and postsUsed 1 to ${refused.posts}, its posts; found gold ${refused.gold}, predicted ${refused.predicted}, postsUsed ${refused.postsUsed}`,
    );
  const isAlert = (label: number) => alerts.includes(labels[label]);
  const wrong = costs === null ? [] : wrongCosts(costs, labels);
  return {
    gold: decisions.map(({ gold }) => gold),
    predicted: decisions.map(({ predicted }) => predicted),
    postsUsed: decisions.map(({ postsUsed }) => postsUsed),
    threadPosts: decisions.map(({ posts }) => posts),
    hours: decisions.map(({ hours }) => hours),
    queries: decisions.map(({ queries }) => queries),
    costs: costs && decisions.map((decision) => costOf(decision, { costs, wrong })),
    alerts:
      alerts.length === 0
        ? null
        : {
            alerted: decisions.map(({ predicted }) => isAlert(predicted)),
            positive: decisions.map(({ gold }) => isAlert(gold)),
          },
    classes: labels.length,
    items: Int32Array.from(decisions.keys()),
  };
}

function costOf(
  { gold, predicted, queries, ...spent }: Decision,
  { costs, wrong }: { costs: Costs; wrong: readonly (readonly number[])[] },
): number | null {
  const reading = readingCost(costs, { ...spent, queries });
  return reading === null ? null : reading + predictionCost(wrong, { gold, predicted });
}

/** One system's scores. */
export interface SystemScores {
  readonly name: string;
  readonly queries: QueryKind;
  readonly threads: number;
  /** Of every metric, by its name. */
  readonly values: Readonly<Record<string, number | null>>;
  /** 95%, bootstrap over threads, of every metric that is resampled; empty unless asked for. */
  readonly intervals: Readonly<Record<string, readonly [low: number, high: number]>>;
  readonly f1ByLabel: Readonly<Record<string, number>>;
  /** The fixed rule that explains most of the stops, and the share it explains. */
  readonly mostCommonStop: { readonly name: string; readonly share: number };
}

/**
 * @param options.metrics what is computed; all of the stop agent's unless given
 * @param options.resample draws the samples behind the intervals; none are computed without it
 */
export function scoreSystem(
  { name, queries, decisions }: SystemDecisions,
  {
    metrics = stopMetrics,
    resample,
    ...task
  }: ScoredStops & {
    metrics?: readonly StopMetric[];
    resample?: { seed: number; resamples: number } | undefined;
  },
): SystemScores {
  const { labels } = task;
  const columns = stopColumns(decisions, task);
  const { perClass } = classificationScores(columns);
  const intervals =
    resample === undefined ? [] : intervalsOf(stopScoring(task, metrics), [{ first: decisions }], resample);
  return {
    name,
    queries,
    threads: decisions.length,
    values: valuesOf(metrics, columns),
    intervals: Object.fromEntries(intervals.map((interval) => [interval.name, [interval.low, interval.high] as const])),
    f1ByLabel: Object.fromEntries(labels.map((label, index) => [label, perClass[index].f1])),
    mostCommonStop: mostCommonStopShare(columns),
  };
}

/** Scores for tables. A rule that sees the labels has no meaningful number of queries. */
export function shownValues({ queries, values }: Pick<SystemScores, 'queries' | 'values'>): SystemScores['values'] {
  return queries === 'oracle' ? { ...values, queriesPerThread: null } : values;
}

/** Scores as `--json` prints them: one key a metric, and `…Interval` where there is one. */
export function scoresJson({ name, queries, threads, values, intervals, f1ByLabel, mostCommonStop }: SystemScores) {
  const metrics: Record<string, unknown> = {};
  for (const [metric, value] of Object.entries(values)) {
    metrics[metric] = value;
    if (intervals[metric] !== undefined) metrics[`${metric}Interval`] = intervals[metric];
  }
  return { name, queries, ...metrics, f1ByLabel, mostCommonStop, threads };
}
