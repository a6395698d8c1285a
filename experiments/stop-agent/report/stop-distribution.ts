import { groupBy } from '../../../src/data/group-by.ts';
import { confusionMatrix, macroF1 } from '../../../src/metrics/classification.ts';
import { mean, quantile } from '../../../src/metrics/summary-statistics.ts';
import type { Decision } from '../decisions.ts';

/** A decision with what its thread and its detector's judgement add to it. */
export interface PlacedDecision extends Decision {
  readonly event: string | null;
  /** The detector's probability of its answer; null where it gave none. */
  readonly confidence: number | null;
}

/** One bar of a histogram, split by whether the answer was right. */
export interface Bar {
  readonly bin: string;
  readonly label: string;
  readonly outcome: 'right' | 'wrong';
  readonly threads: number;
  /** Of the threads of this class that are in any bin; 0 for a class without any. */
  readonly share: number;
}

export interface Bin {
  readonly name: string;
  /** The first value above it. */
  readonly below: number;
}

export const postBins: readonly Bin[] = [
  ...Array.from({ length: 9 }, (_, index) => ({ name: String(index + 1), below: index + 2 })),
  { name: '10–14', below: 15 },
  { name: '15–19', below: 20 },
  { name: '20–29', below: 30 },
  { name: '30–49', below: 50 },
  { name: '50–99', below: 100 },
  { name: '100+', below: Number.POSITIVE_INFINITY },
];

export const hourBins: readonly Bin[] = [
  { name: 'under 1 min', below: 1 / 60 },
  { name: '1–10 min', below: 1 / 6 },
  { name: '10–60 min', below: 1 },
  { name: '1–3 h', below: 3 },
  { name: '3–6 h', below: 6 },
  { name: '6–12 h', below: 12 },
  { name: '12–24 h', below: 24 },
  { name: '24 h or more', below: Number.POSITIVE_INFINITY },
];

/** How many threads of each class are decided in each bin, right and wrong; values that are null are left out. */
export function histogram(
  decisions: readonly PlacedDecision[],
  options: { bins: readonly Bin[]; valueIn: (decision: PlacedDecision) => number | null; labels: readonly string[] },
): Bar[] {
  const { bins, valueIn, labels } = options;
  const placed = decisions.flatMap((decision) => {
    const value = valueIn(decision);
    const bin = value === null ? undefined : bins.find(({ below }) => value < below);
    return bin === undefined ? [] : [{ decision, bin: bin.name }];
  });
  const ofClass = labels.map((_, gold) => placed.filter(({ decision }) => decision.gold === gold));
  return bins.flatMap(({ name }) =>
    labels.flatMap((label, gold) =>
      (['right', 'wrong'] as const).map((outcome) => {
        const threads = ofClass[gold].filter(
          ({ decision, bin }) => bin === name && (decision.predicted === gold) === (outcome === 'right'),
        ).length;
        return { bin: name, label, outcome, threads, share: threads === 0 ? 0 : threads / ofClass[gold].length };
      }),
    ),
  );
}

/** Rows are gold labels, columns predicted ones, the last column answers that could not be read. */
export function confusionRows(decisions: readonly Decision[], labels: readonly string[]): number[][] {
  const { counts } = confusionMatrix({
    gold: decisions.map(({ gold }) => gold),
    predicted: decisions.map(({ predicted }) => predicted),
    classes: labels.length,
  });
  const width = labels.length + 1;
  return labels.map((_, row) => Array.from(counts.subarray(row * width, (row + 1) * width)));
}

/** What an agent comes to on the threads of one event. */
export interface EventScores {
  readonly event: string;
  readonly threads: number;
  readonly macroF1: number;
  readonly er: number;
  readonly medianPosts: number;
}

/** By event, the largest first; empty where threads have none. */
export function byEvent(decisions: readonly PlacedDecision[], labels: readonly string[]): EventScores[] {
  return ofEvents(decisions).map(([event, own]) => ({
    event,
    threads: own.length,
    macroF1: macroF1({
      gold: own.map(({ gold }) => gold),
      predicted: own.map(({ predicted }) => predicted),
      classes: labels.length,
    }),
    er: mean(own.map(({ postsUsed, posts }) => postsUsed / posts)),
    medianPosts: quantile(Float64Array.from(own, ({ postsUsed }) => postsUsed).sort(), 0.5),
  }));
}

/** The decisions of each event, the largest first; none of threads without an event. */
function ofEvents(decisions: readonly PlacedDecision[]): [event: string, own: PlacedDecision[]][] {
  const known = decisions.flatMap((own) => (own.event === null ? [] : [{ ...own, event: own.event }]));
  return [...groupBy(known, ({ event }) => event)].sort(([, a], [, b]) => b.length - a.length);
}

/** How the stops of each event spread over the bins of posts, as shares of its threads; the largest events. */
export function stopsByEvent(
  decisions: readonly PlacedDecision[],
  { events }: { events: number },
): { readonly event: string; readonly bin: string; readonly threads: number; readonly share: number }[] {
  const largest = ofEvents(decisions).slice(0, events);
  return largest.flatMap(([event, own]) => {
    const bins = groupBy(own, ({ postsUsed }) => postBins.find(({ below }) => postsUsed < below)?.name ?? '');
    return Array.from(bins, ([bin, { length }]) => ({ event, bin, threads: length, share: length / own.length }));
  });
}
