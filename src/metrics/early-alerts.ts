import { InputError } from '../errors.ts';
import { quantile } from './summary-statistics.ts';

/*
 * Metrics of early risk detection. An alert is a positive prediction: it is final, and someone acts on it.
 *
 * ERDE_o: Losada & Crestani 2016, §4 (https://doi.org/10.1007/978-3-319-44564-9_3). A false alert costs c_fp, a missed positive c_fn, and
 *   a true alert after k posts lc_o(k)·c_tp with lc_o(k) = 1 − 1/(1 + e^(k − o)). Here k may also be hours.
 * F_latency: Sadeque et al. 2018 (https://doi.org/10.1145/3159652.3159725). F1 of the positives times the speed, which is
 *   1 − median of the penalties −1 + 2/(1 + e^(−p(k − 1))). Their p makes the penalty 0.5 at the median number of posts, as here.
 *
 * | point        | Sadeque                | eRisk since 2019 (https://ceur-ws.org/Vol-2696/paper_253.pdf) | here             |
 * | ------------ | ---------------------- | ------------------------------------------------------------- | ---------------- |
 * | p            | by the data            | 0.0078, which gives 0.5 after 142 posts                       | either           |
 * | median over  | all positives          | true alerts                                                   | true alerts      |
 *
 * Of several classes that raise an alert, any makes an alert on a positive thread true.
 */

/** Decisions of a system; one entry per thread. */
export interface AlertDecisions {
  /** Whether the prediction raises an alert, early or at the end. */
  readonly alerted: readonly boolean[];
  /** Whether the gold label should raise an alert. */
  readonly positive: readonly boolean[];
  /** Posts read at the decision, from 1. */
  readonly postsUsed: readonly number[];
  /** Posts in the thread. */
  readonly threadPosts: readonly number[];
  /** From the first post to the decision; null if a time is unknown. */
  readonly hours: readonly (number | null)[];
  /** Indices of the threads to count, with repetitions (a bootstrap sample); every thread once by default. */
  readonly items?: Int32Array;
}

/**
 * ERDE_o: mean cost per thread; lower is better. A false alert costs the share of positives, a missed or late one 1.
 * @param options.deadline o, at which a true alert costs half of a late one
 * @param options.unit the unit of o; `posts` by default, as in the paper
 * @returns null if o is in hours and a true alert has no known time
 * @throws InputError without threads
 */
export function erde(
  decisions: AlertDecisions,
  { deadline, unit = 'posts' }: { deadline: number; unit?: 'posts' | 'hours' },
): number | null {
  const { alerted, positive, postsUsed, hours } = decisions;
  // A property of the data, so it stays the same in every bootstrap sample.
  const falseAlert = positive.filter(Boolean).length / positive.length;
  const items = itemsOf(decisions);
  let sum = 0;
  for (const item of items) {
    if (!alerted[item]) sum += Number(positive[item]);
    else if (!positive[item]) sum += falseAlert;
    else {
      const latency = unit === 'posts' ? postsUsed[item] : hours[item];
      if (latency === null) return null;
      // 1 − 1/(1 + e^(k − o)), in the form that does not overflow late.
      sum += 1 / (1 + Math.exp(deadline - latency));
    }
  }
  return sum / items.length;
}

/** Rates of the alerts. @throws InputError without threads */
export function alertRates(decisions: AlertDecisions) {
  const { alerted, positive } = decisions;
  const items = itemsOf(decisions);
  let [alerts, positives, hits] = [0, 0, 0];
  for (const item of items) {
    if (alerted[item]) alerts++;
    if (positive[item]) positives++;
    if (alerted[item] && positive[item]) hits++;
  }
  const ratio = (part: number, whole: number) => (whole === 0 ? 0 : part / whole);
  return {
    /** Share of alerts that are true; 0 without an alert. */
    precision: ratio(hits, alerts),
    /** Share of positives with an alert; 0 without a positive. */
    recall: ratio(hits, positives),
    f1: ratio(2 * hits, alerts + positives),
    perThousandThreads: (1000 * alerts) / items.length,
  };
}

/** The p of eRisk since 2019, for users with hundreds of posts. */
export const eRiskP = 0.0078;

/** The p at which the penalty is 0.5 at the median number of posts; a median below 2 counts as 2. */
export function medianP({ threadPosts }: Pick<AlertDecisions, 'threadPosts'>): number {
  return Math.log(3) / Math.max(1, median(threadPosts) - 1);
}

/** The penalty of an alert after `postsUsed` posts: 0 at the first post, towards 1 for late ones. */
export function latencyPenalty(postsUsed: number, p: number): number {
  return -1 + 2 / (1 + Math.exp(-p * (postsUsed - 1)));
}

/**
 * The speed of the true alerts: 1 if half of them come at the first post.
 * @param p growth of the penalty; from the median number of posts by default
 * @returns null without a true alert
 */
export function alertSpeed(decisions: AlertDecisions, p: number = medianP(decisions)): number | null {
  const penalties = trueAlerts(decisions).map((item) => latencyPenalty(decisions.postsUsed[item], p));
  return penalties.length === 0 ? null : 1 - median(penalties);
}

/** F_latency: the F1 of alerts times their speed; see `alertSpeed`. Higher is better. */
export function latencyWeightedF1(decisions: AlertDecisions, p: number = medianP(decisions)): number {
  return alertRates(decisions).f1 * (alertSpeed(decisions, p) ?? 0);
}

/** The median delay of true alerts; null without any, or without known times. */
export function medianAlertDelay(decisions: AlertDecisions): { posts: number | null; hours: number | null } {
  const items = trueAlerts(decisions);
  const hours = items.map((item) => decisions.hours[item]).filter((delay) => delay !== null);
  return {
    posts: items.length === 0 ? null : median(items.map((item) => decisions.postsUsed[item] - 1)),
    hours: hours.length === 0 ? null : median(hours),
  };
}

function trueAlerts(decisions: AlertDecisions): number[] {
  return itemsOf(decisions).filter((item) => decisions.alerted[item] && decisions.positive[item]);
}

function itemsOf({ alerted, items }: AlertDecisions): number[] {
  const threads = items === undefined ? [...alerted.keys()] : Array.from(items);
  if (threads.length > 0) return threads;
  throw new InputError('there are no threads to measure alerts on; evaluate on at least one');
}

function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5);
}
