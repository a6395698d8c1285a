import { confusionMatrix, type Predictions } from '../../src/metrics/classification.ts';
import type { DecisionLine } from './decisions-file.ts';

/** One number that decisions come to, as tables and sweeps name it. */
export interface MetricFacts {
  /** Its key in `--json` and in objectives of sweeps. */
  readonly name: string;
  /** Its heading. */
  readonly title: string;
  readonly decimals: number;
  /** Whether tables have a column for it; they do unless it is false. */
  readonly isShown?: boolean;
  /** The least and the most that it can be, where intervals end; no bounds when left out. */
  readonly range?: readonly [number, number];
  /** Whether it has intervals and is compared, for which it must count `items`; it is unless this is false. */
  readonly isResampled?: boolean;
}

/** A metric of one kind of experiment. What is added to its list applies to old runs, too. */
export interface Metric<Columns, Value extends number | null = number | null> extends MetricFacts {
  /** Null or NaN where the decisions do not say. */
  of(columns: Columns): Value;
}

/** Values of metrics by name; null where a value is unknown. */
export function valuesOf<Columns>(
  metrics: readonly Metric<Columns>[],
  columns: Columns,
): Record<string, number | null> {
  return Object.fromEntries(
    metrics.map((metric) => {
      const value = metric.of(columns);
      return [metric.name, value === null || Number.isNaN(value) ? null : value];
    }),
  );
}

/** The metrics that a table shows: those that any of its rows has. */
export function shownMetrics<Of extends MetricFacts>(
  metrics: readonly Of[],
  rows: readonly { readonly values: Readonly<Record<string, unknown>> }[],
): Of[] {
  const isKnown = (name: string) => rows.some(({ values }) => values[name] !== null && values[name] !== undefined);
  return metrics.filter(({ name, isShown = true }) => isShown && isKnown(name));
}

/** Gold labels and predictions of some decisions, [decisions], as indices into the labels; −1 where there is no prediction. */
export function classIndices(
  decisions: readonly Pick<DecisionLine, 'gold' | 'prediction'>[],
  labels: readonly string[],
) {
  return {
    gold: Int32Array.from(decisions, ({ gold }) => labels.indexOf(gold)),
    predicted: Int32Array.from(decisions, ({ prediction }) => (prediction === null ? -1 : labels.indexOf(prediction))),
    classes: labels.length,
  };
}

/** Counts of a confusion matrix: a row for each true label, a column for each predicted one, and last those that could not be read. */
export function confusionRows({ gold, predicted, classes }: Predictions): number[][] {
  const counts = confusionMatrix({ gold, predicted, classes });
  const width = classes + 1;
  return Array.from({ length: classes }, (_, row) => Array.from(counts.subarray(row * width, (row + 1) * width)));
}
