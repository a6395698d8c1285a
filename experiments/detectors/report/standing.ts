import { counted } from '../../../src/counted.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { fewestItems, type Interval } from '../../../src/metrics/bootstrap.ts';
import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { present } from '../../../src/present.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import { directionOf, type Estimate, estimated, shown, valuesOverSeeds } from '../../report/shown-numbers.ts';
import { intervalsOf, pairedBySeed, scoresOf } from '../../run/scoring.ts';
import { type DetectorDecision, inOrderOfReplies, type Replies, repliesInWords } from '../decisions.ts';
import type { DetectorsResult } from '../result.ts';
import { columnsOf, detectionScores, detectorScoring, f1Metrics } from '../scores.ts';

/** The scores of a detector after a number of replies. */
export interface DetectorPoint {
  readonly replies: Replies;
  /** By name of the metric, F1 of labels or categories among them: means over seeds; null where it is not known. */
  readonly values: Readonly<Record<string, Estimate | null>>;
  /** With its interval over seeds and items. */
  readonly macroF1: Estimate & { readonly interval: Interval };
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
interface DetectorDifference {
  readonly first: string;
  readonly second: string;
  readonly macroF1: MetricInterval;
  readonly accuracy: MetricInterval;
}

/** How the detectors of an experiment stand. */
export interface Standing {
  readonly detectors: readonly DetectorStanding[];
  /** Of every two that share items, in the order of the file. */
  readonly differences: readonly DetectorDifference[];
  /** Always the most common label. */
  readonly majority: { readonly label: string; readonly macroF1: number; readonly accuracy: number };
  /** Items and support, in a sentence. */
  readonly items: string;
  /** Doubts about the comparison. */
  readonly notes: readonly string[];
  /** In one sentence. */
  readonly conclusion: string;
}

const resamples = 1000;

export function standingOf(results: readonly VariantResults<DetectorsResult>[]): Standing {
  const detectors = results.map(standing);
  const differences = detectors.flatMap((first, index) =>
    detectors.slice(index + 1).flatMap((second) => differenceOf(first, second)),
  );
  const [shown] = detectors;
  const majority = majorityOf(shown);
  const facts = { detectors, differences, majority, items: itemsInWords(shown), notes: notesOn(detectors) };
  return { ...facts, conclusion: conclusionOf(facts) };
}

function standing({ variant, trials }: VariantResults<DetectorsResult>): DetectorStanding {
  const [labels] = trials;
  const scoring = detectorScoring(labels);
  const whole = { ...scoring, metrics: [...scoring.metrics, ...f1Metrics(labels)] };
  const points = [...labels.decisions.keys()].map((replies): DetectorPoint => {
    const seeds = trials.map(({ decisions }) => decisions.get(replies) ?? []);
    const drawn = seeds.map((first) => ({ first }));
    const [interval] = intervalsOf(scoring, drawn, { only: ['macroF1'], resamples });
    const macroF1 = { ...estimated(interval), interval };
    const values = { ...valuesOverSeeds(seeds.map((decisions) => scoresOf(whole, decisions))), macroF1 };
    return { replies, values, macroF1, decisions: seeds.flat() };
  });
  return { variant, trials, points, last: points[points.length - 1] };
}

function differenceOf(first: DetectorStanding, second: DetectorStanding): DetectorDifference[] {
  const bySeed = ({ trials, last }: DetectorStanding) =>
    new Map(trials.map(({ seed, decisions }) => [seed, decisions.get(last.replies) ?? []]));
  const seeds = pairedBySeed(bySeed(first), bySeed(second));
  if (seeds.length === 0) return [];
  const scoring = detectorScoring(first.trials[0]);
  const [macroF1, accuracy] = intervalsOf(scoring, seeds, { only: ['macroF1', 'accuracy'], resamples });
  return [{ first: first.variant, second: second.variant, macroF1, accuracy }];
}

/** The points that any detector was asked at, the fewest replies first. */
export function allReplies(detectors: readonly DetectorStanding[]): Replies[] {
  return [...new Set(detectors.flatMap(({ points }) => points.map(({ replies }) => replies)))].sort(inOrderOfReplies);
}

function majorityOf({ trials, last }: DetectorStanding): Standing['majority'] {
  const [label] = [...groupBy(last.decisions, ({ gold }) => gold)].sort(([, a], [, b]) => b.length - a.length)[0];
  const always = last.decisions.map((decision) => ({ ...decision, prediction: label }));
  const { macroF1, accuracy } = detectionScores(columnsOf(trials[0], always));
  return { label, macroF1, accuracy };
}

function itemsInWords({ trials, last }: DetectorStanding): string {
  const [{ seed, part, task, categories }] = trials;
  const first = last.decisions.slice(0, trials[0].decisions.get(last.replies)?.length);
  const support = Object.entries(detectionScores(columnsOf(trials[0], first)).byLabel).map(
    ([label, scores]) => `${label} ${scores.support}`,
  );
  const seeds = trials.length === 1 ? `seed ${seed}` : `seeds ${trials.map((trial) => trial.seed).join(', ')}`;
  const of = categories === null ? 'labels' : 'categories, of which an item may have several';
  return `${counted(first.length, 'item')} of the ${part} part for ${task} (${of}: ${support.join(', ')}), ${seeds}, after ${repliesInWords(last.replies)}`;
}

function notesOn(detectors: readonly DetectorStanding[]): string[] {
  const [{ variant: first, last }] = detectors;
  const idsOf = ({ decisions }: DetectorPoint) => [...new Set(decisions.map(({ item }) => item))].sort().join('\n');
  const others = detectors.filter((detector) => idsOf(detector.last) !== idsOf(last)).map(({ variant }) => variant);
  const unanswered = detectors.flatMap(({ variant, last: { values, decisions } }) =>
    values.unanswered?.mean ? [`${variant} ${Math.round(values.unanswered.mean * decisions.length)}`] : [],
  );
  const depths = groupBy(detectors, (detector) => detector.last.replies);
  const depthsInWords = Array.from(depths, ([replies, alike]) => {
    return `${alike.map(({ variant }) => variant).join(', ')} after ${repliesInWords(replies)}`;
  });
  const { length: items } = last.decisions;
  const few = items === 1 ? 'One item is' : `${items} items are`;
  return present([
    items < fewestItems && `${few} too few for a bootstrap: its intervals and p-values mean nothing here.`,
    others.length > 0 &&
      `${others.join(', ')} ${others.length === 1 ? 'was' : 'were'} judged on other items than ${first}: only differences are on the same ones. Give all variants the same data, split and seeds.`,
    depths.size > 1 &&
      `The detectors have read different numbers of posts: ${depthsInWords.join('; ')}. Give all variants the same replies.`,
    unanswered.length > 0 && `Without an answer, which counts as wrong: ${unanswered.join(', ')} of ${items}.`,
  ]);
}

function conclusionOf({ detectors, differences, majority, items }: Omit<Standing, 'conclusion'>): string {
  const ranked = detectors.toSorted((a, b) => b.last.macroF1.mean - a.last.macroF1.mean);
  const [{ variant: best, last }, ...others] = ranked;
  const { mean: highest, interval } = last.macroF1;
  const isEnough = last.decisions.length >= fewestItems;
  const direction = isEnough ? directionOf(interval, majority.macroF1) : 0;
  const compared = { '1': 'more than', '0': 'not measurably more than', '-1': 'less than' }[direction];
  const has = `a macro-F1 of ${shown(last.macroF1)} on ${items}, ${compared} always predicting ${majority.label} (${majority.macroF1.toFixed(3)})`;
  if (others.length === 0) return `${best} has ${has}.`;
  const leading = ranked.filter((detector) => detector.last.macroF1.mean === highest).map(({ variant }) => variant);
  if (leading.length === detectors.length)
    return `All ${detectors.length} detectors have the same macro-F1, so these items do not show which is best: ${has}.`;
  const near = others.filter(({ variant }) => {
    const difference = differences.find(
      ({ first, second }) => [first, second].includes(best) && [first, second].includes(variant),
    );
    return !isEnough || directionOf(difference?.macroF1) === 0;
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
