import { counted } from '../../../src/counted.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { bootstrapGroups, fewestItems } from '../../../src/metrics/bootstrap.ts';
import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { isMeasurable, withInterval } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { type DetectorDecision, type Replies, repliesInWords } from '../decisions.ts';
import { type DetectorsResult, detectorValues } from '../result.ts';
import { columnsOf, detectorIntervals, detectorMetrics, type ScoredLabels, scoresOf } from '../scores.ts';

/** A number with its 95 % interval, and the p-value of 0. */
export type Estimate = Omit<MetricInterval, 'name' | 'title'>;

/** What a detector comes to after a number of replies: means over seeds. */
export interface DetectorPoint {
  readonly replies: Replies;
  /** By name of the metric; null where it is not known. */
  readonly values: Readonly<Record<string, number | null>>;
  /** With its interval over seeds and items. */
  readonly macroF1: Estimate;
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
  readonly macroF1: Estimate;
  readonly accuracy: Estimate;
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

const resamples = 1000;

export function standingOf(results: readonly VariantResults<DetectorsResult>[]): Standing {
  const detectors = results.map(standing);
  const differences = differencesOf(detectors);
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
      macroF1: macroF1Of(labels, seeds),
      f1: Object.fromEntries(
        Object.keys(byLabel[0]).map((label) => [label, meanAndDeviation(byLabel.map((own) => own[label].f1)).mean]),
      ),
      decisions: seeds.flat(),
    };
  });
  return { variant, trials, points, last: points[points.length - 1] };
}

function macroF1Of(labels: ScoredLabels, seeds: readonly (readonly DetectorDecision[])[]): Estimate {
  const metrics = detectorMetrics.filter(({ name }) => name === 'macroF1');
  return detectorIntervals({ labels, seeds: seeds.map((first) => ({ first })), metrics, resamples })[0];
}

function meanOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : meanAndDeviation(values).mean;
}

/** Of every two, by draws of the items that all have judged: the same for all. None where they share no item. */
function differencesOf(detectors: readonly DetectorStanding[]): DetectorDifference[] {
  const groups = detectors[0].trials.flatMap(({ seed }) => {
    const said = detectors.map(({ trials, last }) => {
      const own = trials.find((trial) => trial.seed === seed)?.decisions.get(last.replies) ?? [];
      return new Map(own.map((decision) => [decision.item, decision]));
    });
    const shared = [...said[0].keys()].filter((id) => said.every((own) => own.has(id)));
    return shared.length === 0
      ? []
      : [
          said.map((own) =>
            columnsOf(
              detectors[0].trials[0],
              shared.flatMap((id) => own.get(id) ?? []),
            ),
          ),
        ];
  });
  const pairs = detectors.flatMap((_, first) =>
    Array.from({ length: detectors.length - first - 1 }, (_, place) => [first, first + 1 + place] as const),
  );
  if (groups.length === 0 || pairs.length === 0) return [];
  const intervals = bootstrapGroups({
    groups: groups.map(([columns]) => columns.items.length),
    seed: 1,
    resamples,
    statistics(group, items) {
      const scores = groups[group].map((columns) => scoresOf({ ...columns, items }));
      return pairs.flatMap(([first, second]) => [
        scores[first].macroF1 - scores[second].macroF1,
        scores[first].accuracy - scores[second].accuracy,
      ]);
    },
    scoreRange: () => [-1, 1],
  });
  return pairs.map(([first, second], pair) => ({
    first: detectors[first].variant,
    second: detectors[second].variant,
    macroF1: intervals[2 * pair],
    accuracy: intervals[2 * pair + 1],
  }));
}

/** The points that any detector was asked at, in the order of the first that has them. */
export function allReplies(detectors: readonly DetectorStanding[]): Replies[] {
  return [...new Set(detectors.flatMap(({ points }) => points.map(({ replies }) => replies)))];
}

function majorityOf({ trials, last }: DetectorStanding): Standing['majority'] {
  const [label] = [...groupBy(last.decisions, ({ gold }) => gold)].sort(([, a], [, b]) => b.length - a.length)[0];
  const always = last.decisions.map((decision) => ({ ...decision, prediction: label }));
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
  return `${counted(first.length, 'item')} of the ${part} part for ${task} (${of}: ${support.join(', ')}), ${seeds}, after ${repliesInWords(last.replies)}`;
}

function notesOn(detectors: readonly DetectorStanding[]): string[] {
  const ids = detectors.map(({ last }) => [...new Set(last.decisions.map(({ item }) => item))].sort().join('\n'));
  const others = detectors.filter((_, index) => ids[index] !== ids[0]).map(({ variant }) => variant);
  const unanswered = detectors.flatMap(({ variant, last: { values, decisions } }) =>
    values.unanswered ? [`${variant} ${Math.round(values.unanswered * decisions.length)}`] : [],
  );
  const { length: items } = detectors[0].last.decisions;
  return [
    ...(items < fewestItems
      ? [
          `${items === 1 ? 'one item is' : `${items} items are`} too few for a bootstrap: its intervals and p-values say nothing here`,
        ]
      : []),
    ...(others.length === 0
      ? []
      : [
          `${others.join(', ')} ${others.length === 1 ? 'was' : 'were'} judged on other items than ${detectors[0].variant}: only differences are on the same ones. Give all variants the same data, split and seeds`,
        ]),
    ...(unanswered.length === 0
      ? []
      : [`without an answer, which counts as wrong: ${unanswered.join(', ')} of ${items}`]),
  ];
}

function verdictOf({ detectors, differences, majority, items }: Omit<Standing, 'verdict'>): string {
  const ranked = detectors.toSorted((a, b) => b.last.macroF1.estimate - a.last.macroF1.estimate);
  const [best, ...others] = ranked;
  const { estimate, low, high } = best.last.macroF1;
  const isEnough = best.last.decisions.length >= fewestItems;
  const has = `macro-F1 ${withInterval(best.last.macroF1)} on ${items}`;
  const floor =
    isEnough && low > majority.macroF1
      ? `; always saying ${majority.label} has ${majority.macroF1.toFixed(3)}`
      : `; that is ${isEnough && high < majority.macroF1 ? 'less' : 'not measurably more'} than always saying ${majority.label} (${majority.macroF1.toFixed(3)})`;
  if (others.length === 0) return `${best.variant} has ${has}${floor}`;
  const isApart = ({ variant }: DetectorStanding) => {
    const own = differences.find(
      ({ first, second }) => [first, second].includes(best.variant) && [first, second].includes(variant),
    );
    return isEnough && own !== undefined && isMeasurable(own.macroF1);
  };
  const leading = ranked.filter(({ last }) => last.macroF1.estimate === estimate).map(({ variant }) => variant);
  const it = leading.length === 1 ? 'it' : 'the first of them';
  const near = others.filter((other) => !isApart(other)).map(({ variant }) => variant);
  const told =
    near.length === 0
      ? 'these items tell it apart from every other'
      : near.length === others.length
        ? `these items tell ${it} apart from none of the others`
        : `these items do not tell ${it} apart from ${near.join(', ')}`;
  if (leading.length === detectors.length)
    return `all ${detectors.length} detectors have the same macro-F1, so these items do not tell which is best: ${has}${floor}`;
  const names = leading.length === 1 ? `${best.variant} has` : `${leading.join(', ')} have`;
  return `${names} the highest macro-F1 of ${detectors.length} detectors, and ${told}: ${has}${floor}`;
}
