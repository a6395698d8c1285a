import { groupBy } from '../../../src/data/group-by.ts';
import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { type DetectorDecision, type Replies, repliesInWords } from '../decisions.ts';
import { type DetectorsResult, detectorValues } from '../result.ts';
import { columnsOf, detectorMetrics, type MetricInterval, metricIntervals, scoresOf } from '../scores.ts';

/** What a detector comes to after a number of replies: means over seeds. */
export interface DetectorPoint {
  readonly replies: Replies;
  /** By name of the metric; null where it is not known. */
  readonly values: Readonly<Record<string, number | null>>;
  /** Of macro-F1 and accuracy. */
  readonly intervals: readonly MetricInterval[];
  /** F1 by label, or by category. */
  readonly f1: Readonly<Record<string, number>>;
  /** Of all seeds together. */
  readonly decisions: readonly DetectorDecision[];
}

export interface DetectorStanding {
  readonly variant: string;
  readonly trials: readonly DetectorsResult[];
  readonly points: readonly DetectorPoint[];
  /** After the most replies: what tables show. */
  readonly last: DetectorPoint;
}

/** One detector minus another after the most replies, on the items that both judged. */
export interface DetectorDifference {
  readonly first: string;
  readonly second: string;
  readonly macroF1: MetricInterval;
  readonly accuracy: MetricInterval;
}

/** How the detectors of an experiment stand. */
export interface Standing {
  readonly detectors: readonly DetectorStanding[];
  /** Of every two, in the order of the file. */
  readonly differences: readonly DetectorDifference[];
  /** Always the most common label. */
  readonly majority: { readonly label: string; readonly macroF1: number; readonly accuracy: number };
  /** Items and support, in a sentence. */
  readonly items: string;
  /** What a reader must know of the comparison. */
  readonly notes: readonly string[];
  readonly verdict: string;
}

const compared = detectorMetrics.filter(({ name }) => name === 'macroF1' || name === 'accuracy');
const resamples = 1000;

export function standingOf(results: readonly VariantResults<DetectorsResult>[]): Standing {
  const detectors = results.map(standing);
  const differences = detectors.flatMap((first, place) =>
    detectors.slice(place + 1).flatMap((second) => differenceOf(first, second) ?? []),
  );
  const [shown] = detectors;
  const majority = majorityOf(shown);
  const known = { detectors, differences, majority, items: itemsInWords(shown), notes: notesOn(detectors) };
  return { ...known, verdict: verdictOf(known) };
}

function standing({ variant, trials }: VariantResults<DetectorsResult>): DetectorStanding {
  const [labels] = trials;
  const points = [...labels.decisions.keys()].map((replies): DetectorPoint => {
    const seeds = trials.map(({ decisions }) => decisions.get(replies) ?? []);
    const values = seeds.map((decisions) => detectorValues(labels, decisions));
    const byLabel = seeds.map((decisions) => scoresOf(columnsOf(labels, decisions)).byLabel);
    return {
      replies,
      values: Object.fromEntries(
        detectorMetrics.map(({ name }) => [name, meanOrNull(values.flatMap((own) => own[name] ?? []))]),
      ),
      intervals: metricIntervals({
        labels,
        seeds: seeds.map((first) => ({ first })),
        metrics: compared,
        resamples,
      }),
      f1: Object.fromEntries(
        Object.keys(byLabel[0]).map((label) => [label, meanAndDeviation(byLabel.map((own) => own[label].f1)).mean]),
      ),
      decisions: seeds.flat(),
    };
  });
  return { variant, trials, points, last: points[points.length - 1] };
}

function meanOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : meanAndDeviation(values).mean;
}

/** Null where they share no item. */
function differenceOf(first: DetectorStanding, second: DetectorStanding): DetectorDifference | null {
  const seeds = first.trials.flatMap((trial) => {
    const other = second.trials.find(({ seed }) => seed === trial.seed);
    const said = new Map(other?.decisions.get(second.last.replies)?.map((own) => [own.threadId, own]));
    const pairs = (trial.decisions.get(first.last.replies) ?? []).flatMap((left) => {
      const right = said.get(left.threadId);
      return right === undefined ? [] : [{ left, right }];
    });
    return pairs.length === 0
      ? []
      : [{ first: pairs.map(({ left }) => left), second: pairs.map(({ right }) => right) }];
  });
  if (seeds.length === 0) return null;
  const [macroF1, accuracy] = metricIntervals({ labels: first.trials[0], seeds, metrics: compared, resamples });
  return { first: first.variant, second: second.variant, macroF1, accuracy };
}

function majorityOf({ trials, last }: DetectorStanding): Standing['majority'] {
  const [label] = [...groupBy(last.decisions, ({ gold }) => gold)].sort(([, a], [, b]) => b.length - a.length)[0];
  const always = last.decisions.map((decision) => ({ ...decision, predicted: label }));
  const { macroF1, accuracy } = scoresOf(columnsOf(trials[0], always));
  return { label, macroF1, accuracy };
}

function itemsInWords({ trials, last }: DetectorStanding): string {
  const [{ seed, part, task, categories }] = trials;
  const first = last.decisions.slice(0, trials[0].decisions.get(last.replies)?.length);
  const support = Object.entries(scoresOf(columnsOf(trials[0], first)).byLabel).map(
    ([label, own]) => `${label} ${own.support}`,
  );
  const seeds = trials.length === 1 ? `seed ${seed}` : `seeds ${trials.map((trial) => trial.seed).join(', ')}`;
  const of = categories === null ? 'labels' : 'categories, of which an item may have several';
  return `${first.length} items of the ${part} part for ${task} (${of}: ${support.join(', ')}), ${seeds}, after ${repliesInWords(last.replies)}`;
}

function notesOn(detectors: readonly DetectorStanding[]): string[] {
  const ids = detectors.map(({ last }) =>
    [...new Set(last.decisions.map(({ threadId }) => threadId))].sort().join('\n'),
  );
  const others = detectors.filter((_, index) => ids[index] !== ids[0]).map(({ variant }) => variant);
  const unanswered = detectors.flatMap(({ variant, last: { values, decisions } }) =>
    values.unanswered ? [`${variant} ${Math.round(values.unanswered * decisions.length)}`] : [],
  );
  return [
    ...(others.length === 0
      ? []
      : [
          `${others.join(', ')} ${others.length === 1 ? 'was' : 'were'} judged on other items than ${detectors[0].variant}: only differences are on the same ones. Give all variants the same data, split and seeds`,
        ]),
    ...(unanswered.length === 0
      ? []
      : [
          `without an answer, which counts as wrong: ${unanswered.join(', ')} of ${detectors[0].last.decisions.length}`,
        ]),
  ];
}

/** The macro-F1 of a point with its interval. */
export function macroF1Of({ intervals }: DetectorPoint): MetricInterval {
  return intervals[0];
}

function verdictOf({ detectors, differences, majority, items }: Omit<Standing, 'verdict'>): string {
  const ranked = detectors.toSorted((a, b) => macroF1Of(b.last).estimate - macroF1Of(a.last).estimate);
  const [best, ...others] = ranked;
  const { estimate, low, high } = macroF1Of(best.last);
  const has = `macro-F1 ${estimate.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] on ${items}`;
  const floor =
    low > majority.macroF1
      ? `; always saying ${majority.label} has ${majority.macroF1.toFixed(3)}`
      : `; that is not measurably more than always saying ${majority.label} (${majority.macroF1.toFixed(3)})`;
  if (others.length === 0) return `${best.variant} has ${has}${floor}`;
  const isApart = ({ variant }: DetectorStanding) => {
    const own = differences.find(
      ({ first, second }) => [first, second].includes(best.variant) && [first, second].includes(variant),
    );
    return own !== undefined && (own.macroF1.low > 0 || own.macroF1.high < 0);
  };
  const near = others.filter((other) => !isApart(other)).map(({ variant }) => variant);
  const told =
    near.length === 0
      ? 'these items tell it apart from every other'
      : near.length === others.length
        ? 'these items tell it apart from none of the others'
        : `these items do not tell it apart from ${near.join(', ')}`;
  return `${best.variant} has the highest macro-F1 of ${detectors.length} detectors, and ${told}: ${has}${floor}`;
}
