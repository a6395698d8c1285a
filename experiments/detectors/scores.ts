import { categoriesOf } from '../../experts/tasks/task-file.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { entryOf } from '../../src/entry-of.ts';
import { brierScore, type ConfidentAnswer, calibration } from '../../src/metrics/calibration.ts';
import { type ClassScores, classificationScores } from '../../src/metrics/classification.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import type { ScoredTask } from '../judging/gold-labels.ts';
import { classIndices, confusionRows, type Metric } from '../run/metric.ts';
import type { Scoring } from '../run/scoring.ts';
import { type DetectorDecision, inOrderOfReplies, type Replies, repliesOf } from './decisions.ts';

/** The facts about a task that scoring needs and a run keeps. */
export type ScoredLabels = Pick<ScoredTask, 'labels' | 'categories'>;

/** The columns of some decisions, and which of these count. */
export interface DetectorColumns extends ScoredLabels {
  readonly decisions: readonly DetectorDecision[];
  /** Indices into `labels`; −1 where there is no answer. */
  readonly gold: Int32Array;
  readonly predicted: Int32Array;
  /** Of every category, whether it is there (1) or not (0). */
  readonly byCategory: readonly { readonly gold: Int32Array; readonly predicted: Int32Array }[];
  /** Decisions that count, repetitions counting again (a bootstrap sample). */
  readonly items: Int32Array;
}

export function columnsOf(
  { labels, categories }: ScoredLabels,
  decisions: readonly DetectorDecision[],
): DetectorColumns {
  const indices = (of: (decision: DetectorDecision) => number) => Int32Array.from(decisions, of);
  const has = (label: string | null, category: string) =>
    label === null ? -1 : Number(categoriesOf(label).includes(category));
  return {
    labels,
    categories,
    decisions,
    ...classIndices(decisions, labels),
    byCategory: (categories ?? []).map((category) => ({
      gold: indices(({ gold }) => has(gold, category)),
      predicted: indices(({ prediction }) => has(prediction, category)),
    })),
    items: Int32Array.from(decisions.keys()),
  };
}

/**
 * @returns unreadable: answers that could not be read, abstentions, and judgements that failed, which all count as wrong; accuracy: for a
 *   task of categories the share of items that have every category right; macroF1: mean F1 of the labels, or of the categories' presence
 */
export function detectionScores({ labels, categories, gold, predicted, byCategory, items }: DetectorColumns) {
  const whole = classificationScores({ gold, predicted, classes: labels.length, items });
  const present = byCategory.map((category) => classificationScores({ ...category, classes: 2, items }).perClass[1]);
  const scored = categories === null ? whole.perClass : present;
  const byLabel = (categories ?? labels).map((label, index): [string, ClassScores] => [label, scored[index]]);
  return {
    ...{ items: whole.items, unreadable: whole.unparsed, accuracy: whole.accuracy },
    macroF1: categories === null ? whole.macroF1 : mean(present.map(({ f1 }) => f1)),
    byLabel: Object.fromEntries(byLabel),
  };
}

/** The probability of each answer that has one, and whether it is right. */
export function confidentAnswers({ decisions, items }: DetectorColumns): ConfidentAnswer[] {
  return Array.from(items, (item) => decisions[item]).flatMap(({ gold, prediction, probabilities }) => {
    const confidence = prediction === null ? undefined : entryOf(probabilities ?? {}, prediction);
    return confidence === undefined ? [] : [{ confidence, isRight: gold === prediction }];
  });
}

/** Mean over the items that have probabilities; NaN where none has. */
function meanBrier({ labels, decisions, gold, items }: DetectorColumns): number {
  let sum = 0;
  let count = 0;
  for (const item of items) {
    const { probabilities } = decisions[item];
    if (probabilities === null) continue;
    sum += brierScore({ probabilities: labels.map((label) => entryOf(probabilities, label) ?? 0), gold: gold[item] });
    count++;
  }
  return sum / count;
}

/** Of what is known. */
function meanOf(value: (decision: DetectorDecision) => number | null): (columns: DetectorColumns) => number {
  return ({ decisions, items }) => {
    return mean(Array.from(items, (item) => value(decisions[item])).filter((each) => each !== null));
  };
}

const share = { decimals: 3, range: [0, 1] } as const;

/** Every metric, in the order of the tables. */
export const detectorMetrics: readonly Metric<DetectorColumns>[] = [
  { name: 'macroF1', title: 'macro-F1', ...share, of: (columns) => detectionScores(columns).macroF1 },
  { name: 'accuracy', title: 'accuracy', ...share, of: (columns) => detectionScores(columns).accuracy },
  { name: 'brier', title: 'Brier score', decimals: 3, range: [0, 2], of: meanBrier },
  { name: 'calibrationError', title: 'calibration error', ...share, of: calibrationError },
  {
    name: 'unanswered',
    title: 'no answer',
    ...share,
    isShown: false,
    of: meanOf(({ prediction }) => Number(prediction === null)),
  },
  { name: 'calls', title: 'calls', decimals: 1, of: meanOf(({ numbers }) => numbers.calls) },
  { name: 'inputTokens', title: 'tokens in', decimals: 0, of: meanOf(({ numbers }) => numbers.inputTokens) },
  { name: 'outputTokens', title: 'tokens out', decimals: 0, of: meanOf(({ numbers }) => numbers.outputTokens) },
  { name: 'cost', title: 'money', decimals: 6, of: meanOf(({ numbers }) => numbers.cost) },
  { name: 'seconds', title: 'seconds', decimals: 2, of: meanOf(({ numbers }) => numbers.seconds) },
];

function calibrationError(columns: DetectorColumns): number {
  return calibration(confidentAnswers(columns))?.expectedError ?? Number.NaN;
}

/** F1 of each label, or of each category. */
export function f1Metrics({ labels, categories }: ScoredLabels): Metric<DetectorColumns>[] {
  return (categories ?? labels).map((label) => ({
    name: `f1 ${label}`,
    title: `F1 ${label}`,
    ...share,
    of: (columns) => detectionScores(columns).byLabel[label].f1,
  }));
}

/** How decisions about these labels are scored. */
export function detectorScoring(labels: ScoredLabels): Scoring<DetectorDecision, DetectorColumns> {
  return { metrics: detectorMetrics, columnsOf: (decisions) => columnsOf(labels, decisions) };
}

/** The decisions of a run after each number of replies, the fewest first, in whatever order the experiment names them. */
export function byReplies(decisions: readonly DetectorDecision[]): Map<Replies, DetectorDecision[]> {
  return new Map([...groupBy(decisions, repliesOf)].sort(([first], [second]) => inOrderOfReplies(first, second)));
}

/**
 * How often each true label was predicted as each label; only labels that occur. Last in a row are abstentions, and judgements that could
 * not be had.
 * @param decisions after one number of replies
 */
export function confusionOf(
  { labels }: ScoredLabels,
  decisions: readonly DetectorDecision[],
): { labels: string[]; counts: number[][] } {
  const all = confusionRows(classIndices(decisions, labels));
  const shown = [...labels.keys()].filter((label) => all[label].some(Boolean) || all.some((row) => row[label] > 0));
  return {
    labels: shown.map((label) => labels[label]),
    counts: shown.map((gold) => [...shown, labels.length].map((predicted) => all[gold][predicted])),
  };
}

const errorsListed = 10;

/** Wrong predictions, the surest first. */
export function surestErrors(decisions: readonly DetectorDecision[]) {
  return decisions
    .flatMap(({ item, gold, prediction: predicted, probabilities, texts: { explanation, key } }) => {
      if (predicted === null || predicted === gold) return [];
      const confidence = entryOf(probabilities ?? {}, predicted) ?? null;
      return [{ item, label: gold, predicted, confidence, explanation, key }];
    })
    .sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0))
    .slice(0, errorsListed);
}
