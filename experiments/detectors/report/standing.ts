import { counted } from '../../../src/counted.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { bootstrapGroups, fewestItems, type Interval } from '../../../src/metrics/bootstrap.ts';
import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import { type Estimate, isMeasurable, shown } from '../../report/shown-numbers.ts';
import { type DetectorDecision, type Replies, repliesInWords } from '../decisions.ts';
import { type DetectorsResult, detectorValues } from '../result.ts';
import { columnsOf, detectorIntervals, detectorMetrics, type ScoredLabels, scoresOf } from '../scores.ts';

/** A difference with its 95% interval, and the p-value of 0. */
type Difference = Omit<MetricInterval, 'name' | 'title'>;

/** What a detector comes to after a number of replies: means over seeds. */
export interface DetectorPoint {
  readonly replies: Replies;
  /** By name of the metric, macro-F1 with its interval over seeds and items; null where it is not known. */
  readonly values: Readonly<Record<string, Estimate | null>>;
  readonly macroF1: Required<Pick<Estimate, 'mean' | 'interval'>> & { readonly interval: Interval };
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
  readonly macroF1: Difference;
  readonly accuracy: Difference;
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
  /** In one sentence. */
  readonly conclusion: string;
}

const resamples = 1000;

export function standingOf(results: readonly VariantResults<DetectorsResult>[]): Standing {
  const detectors = results.map(standing);
  const differences = differencesOf(detectors);
  const [shown] = detectors;
  const majority = majorityOf(shown);
  const known = { detectors, differences, majority, items: itemsInWords(shown), notes: notesOn(detectors) };
  return { ...known, conclusion: conclusionOf(known) };
}

function standing({ variant, trials }: VariantResults<DetectorsResult>): DetectorStanding {
  const [labels] = trials;
  const points = [...labels.decisions.keys()].map((replies): DetectorPoint => {
    const seeds = trials.map(({ decisions }) => decisions.get(replies) ?? []);
    const values = seeds.map((decisions) => detectorValues(labels, decisions));
    const byLabel = seeds.map((decisions) => scoresOf(columnsOf(labels, decisions)).byLabel);
    const macroF1 = macroF1Of(labels, seeds);
    const over = detectorMetrics.map(({ name }) => {
      const known = values.flatMap((own) => own[name] ?? []);
      return [name, known.length === 0 ? null : { mean: mean(known) }];
    });
    return {
      replies,
      values: { ...Object.fromEntries(over), macroF1 },
      macroF1,
      f1: Object.fromEntries(
        Object.keys(byLabel[0]).map((label) => [label, mean(byLabel.map((own) => own[label].f1))]),
      ),
      decisions: seeds.flat(),
    };
  });
  return { variant, trials, points, last: points[points.length - 1] };
}

function macroF1Of(labels: ScoredLabels, seeds: readonly (readonly DetectorDecision[])[]): DetectorPoint['macroF1'] {
  const metrics = detectorMetrics.filter(({ name }) => name === 'macroF1');
  const [own] = detectorIntervals({ labels, seeds: seeds.map((first) => ({ first })), metrics, resamples });
  return { mean: own.estimate, interval: own };
}

/** Of every two, by draws of the items that all have judged: the same for all. None where they share no item. */
function differencesOf(detectors: readonly DetectorStanding[]): DetectorDifference[] {
  const groups = detectors[0].trials.flatMap(({ seed }) => {
    const predictions = detectors.map(({ trials, last }) => {
      const own = trials.find((trial) => trial.seed === seed)?.decisions.get(last.replies) ?? [];
      return new Map(own.map((decision) => [decision.item, decision]));
    });
    const shared = [...predictions[0].keys()].filter((id) => predictions.every((own) => own.has(id)));
    return shared.length === 0
      ? []
      : [
          predictions.map((own) =>
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
  const [{ variant: first, last }] = detectors;
  const idsOf = ({ decisions }: DetectorPoint) => [...new Set(decisions.map(({ item }) => item))].sort().join('\n');
  const others = detectors.filter((own) => idsOf(own.last) !== idsOf(last)).map(({ variant }) => variant);
  const unanswered = detectors.flatMap(({ variant, last: { values, decisions } }) =>
    values.unanswered?.mean ? [`${variant} ${Math.round(values.unanswered.mean * decisions.length)}`] : [],
  );
  const { length: items } = last.decisions;
  return [
    ...(items < fewestItems
      ? [
          `${items === 1 ? 'One item is' : `${items} items are`} too few for a bootstrap: its intervals and p-values mean nothing here.`,
        ]
      : []),
    ...(others.length === 0
      ? []
      : [
          `${others.join(', ')} ${others.length === 1 ? 'was' : 'were'} judged on other items than ${first}: only differences are on the same ones. Give all variants the same data, split and seeds.`,
        ]),
    ...(unanswered.length === 0
      ? []
      : [`Without an answer, which counts as wrong: ${unanswered.join(', ')} of ${items}.`]),
  ];
}

function conclusionOf({ detectors, differences, majority, items }: Omit<Standing, 'conclusion'>): string {
  const ranked = detectors.toSorted((a, b) => b.last.macroF1.mean - a.last.macroF1.mean);
  const [{ variant: best, last }, ...others] = ranked;
  const { mean: highest, interval } = last.macroF1;
  const isEnough = last.decisions.length >= fewestItems;
  const compared =
    isEnough && interval.low > majority.macroF1
      ? 'more than'
      : isEnough && interval.high < majority.macroF1
        ? 'less than'
        : 'not measurably more than';
  const has = `a macro-F1 of ${shown(last.macroF1)} on ${items}, ${compared} always predicting ${majority.label} (${majority.macroF1.toFixed(3)})`;
  if (others.length === 0) return `${best} has ${has}.`;
  const leading = ranked.filter((own) => own.last.macroF1.mean === highest).map(({ variant }) => variant);
  if (leading.length === detectors.length)
    return `All ${detectors.length} detectors have the same macro-F1, so these items do not show which is best: ${has}.`;
  const near = others.filter(({ variant }) => {
    const own = differences.find(
      ({ first, second }) => [first, second].includes(best) && [first, second].includes(variant),
    );
    return !isEnough || own === undefined || !isMeasurable(own.macroF1);
  });
  const names = leading.length === 1 ? `${best} is the best` : `${leading.join(', ')} are the best`;
  const from =
    near.length === 0
      ? 'measurably better than every other'
      : near.length === others.length
        ? 'but not measurably better than any other'
        : `but not measurably better than ${near.map(({ variant }) => variant).join(', ')}`;
  return `${names} of ${detectors.length} detectors, ${from}: ${has}.`;
}
