import { groupBy } from '../../src/data/group-by.ts';
import { classificationScores, type Predictions } from '../../src/metrics/classification.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { classIndices, type Metric } from '../run/metric.ts';
import type { Scoring } from '../run/scoring.ts';
import { type SelectorDecision, type SelectorTask, selectorTasks, taskClasses, taskOf, threadOf } from './decisions.ts';

const share = { decimals: 3, range: [0, 1] } as const;

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
  readonly values: Readonly<Record<string, number>>;
  /** F1 by class; null for a class without labels. */
  readonly perClass: Readonly<Record<string, number | null>>;
}

/**
 * @param options.gold −1 without a label
 * @returns null without any label
 */
export function taskScoresOf(options: {
  classes: readonly string[];
  gold: ArrayLike<number>;
  predicted: ArrayLike<number>;
}): TaskScores | null {
  const { classes, gold, predicted } = options;
  const items = Array.from(gold, (_, index) => index).filter((index) => gold[index] >= 0);
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

/** The scores of one task; null without a labelled item. */
export function taskScores(task: SelectorTask, decisions: readonly SelectorDecision[]): TaskScores | null {
  const ofTask = decisions.filter((decision) => taskOf(decision) === task);
  return taskScoresOf({ ...classIndices(ofTask, taskClasses[task]), classes: taskClasses[task] });
}

/** The scores in `--json`: one object per task, null for a task without labels. */
export function testScoresJson(decisions: readonly SelectorDecision[]) {
  return Object.fromEntries(
    selectorTasks.map((task) => {
      const scores = taskScores(task, decisions);
      return [task, scores && { items: scores.items, ...scores.values, perClass: scores.perClass }];
    }),
  );
}

/** The scoring of one task. Resamples draw whole threads, because the replies of a thread are not independent. */
export function selectorScoring(task: SelectorTask): Scoring<SelectorDecision, Predictions> {
  return {
    metrics: selectorMetrics,
    columnsOf: (decisions) => classIndices(decisions, taskClasses[task]),
    drawnTogether: (decisions) => [...groupBy(decisions.keys(), (item) => threadOf(decisions[item])).values()],
  };
}
