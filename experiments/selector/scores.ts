import { groupBy } from '../../src/data/group-by.ts';
import { classificationScores, type Predictions } from '../../src/metrics/classification.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { classIndices, type Metric } from '../run/metric.ts';
import type { Scoring } from '../run/scoring.ts';
import { type SelectorDecision, type SelectorTask, taskClasses, taskOf, threadOf } from './decisions.ts';

const share = { decimals: 3, range: [0, 1] } as const;

/** Every metric of the selector, in the order of the tables. */
export const selectorMetrics: readonly Metric<Predictions, number>[] = [
  {
    name: 'macroF1',
    title: 'macro-F1',
    ...share,
    // Over the classes that occur among the gold labels: RumourEval has no non-rumours.
    of(predictions) {
      const present = classificationScores(predictions).perClass.filter(({ support }) => support > 0);
      return mean(present.map(({ f1 }) => f1));
    },
  },
  { name: 'microF1', title: 'micro-F1', ...share, of: (predictions) => classificationScores(predictions).microF1 },
];

export interface TaskScores {
  readonly items: number;
  /** Of every metric, by its name. */
  readonly values: Readonly<Record<string, number>>;
  /** F1 by class; null for a class that no label is of. */
  readonly perClass: Readonly<Record<string, number | null>>;
}

/**
 * @param options.gold −1 where there is no label
 * @returns null where there is no label at all
 */
export function taskScoresOf(options: {
  classes: readonly string[];
  gold: readonly number[];
  predicted: readonly number[];
}): TaskScores | null {
  const { classes, gold, predicted } = options;
  const items = [...gold.keys()].filter((index) => gold[index] >= 0);
  if (items.length === 0) return null;
  const predictions = {
    gold: items.map((index) => gold[index]),
    predicted: items.map((index) => predicted[index]),
    classes: classes.length,
  };
  const { perClass } = classificationScores(predictions);
  return {
    items: items.length,
    values: Object.fromEntries(selectorMetrics.map((metric) => [metric.name, metric.of(predictions)])),
    perClass: Object.fromEntries(
      classes.map((name, index) => [name, perClass[index].support === 0 ? null : perClass[index].f1]),
    ),
  };
}

/** Null where a test set has no such labels. */
export type TestScores = Readonly<Record<SelectorTask, TaskScores | null>>;

/** Scores of one system on one test set. */
export function scoreTest(decisions: readonly SelectorDecision[]): TestScores {
  const of = (task: SelectorTask) => {
    const own = decisions.filter((decision) => taskOf(decision) === task);
    const { gold, predicted } = classIndices(own, taskClasses[task]);
    return taskScoresOf({ classes: taskClasses[task], gold: [...gold], predicted: [...predicted] });
  };
  return { stance: of('stance'), veracity: of('veracity') };
}

export function testScoresJson({ stance, veracity }: TestScores) {
  return { stance: taskScoresJson(stance), veracity: taskScoresJson(veracity) };
}

/** Scores as `--json` prints them: one key a metric. */
function taskScoresJson(scores: TaskScores | null) {
  if (scores === null) return null;
  const { items, values, perClass } = scores;
  return { items, ...values, perClass };
}

/** How decisions of one task are scored. Threads are drawn whole with their replies, because these are not independent. */
export function selectorScoring(task: SelectorTask): Scoring<SelectorDecision, Predictions> {
  return {
    metrics: selectorMetrics,
    columnsOf: (decisions) => classIndices(decisions, taskClasses[task]),
    drawnTogether: (decisions) => [...groupBy(decisions.keys(), (item) => threadOf(decisions[item])).values()],
  };
}
