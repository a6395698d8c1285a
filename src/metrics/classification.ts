import { InputError } from '../errors.ts';

/** The class index of each item, [items]. A prediction of −1 means that no label could be read from the answer. */
export type ClassIndices = Int8Array | Int32Array | readonly number[];

/** Gold labels and predictions to score. */
export interface Predictions {
  readonly gold: ClassIndices;
  readonly predicted: ClassIndices;
  readonly classes: number;
  /** Indices of the items to count, with repetitions (a bootstrap sample); every item once by default. */
  readonly items?: Int32Array | readonly number[];
}

/** Scores of one class, 0 to 1; 0 if nothing was predicted as the class or belongs to it. */
export interface ClassScores {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** Items whose gold label is this class. */
  readonly support: number;
}

/**
 * Counts gold × predicted classes.
 * @returns row-major `[classes, classes + 1]`, the last column for predictions of −1
 */
export function confusionMatrix({ gold, predicted, classes, items }: Predictions): Int32Array {
  const counts = new Int32Array(classes * (classes + 1));
  const count = items?.length ?? gold.length;
  for (let position = 0; position < count; position++) {
    const item = items === undefined ? position : items[position];
    const column = predicted[item];
    counts[gold[item] * (classes + 1) + (column === -1 ? classes : column)]++;
  }
  return counts;
}

/**
 * Scores like scikit-learn with all classes as `labels` and `zero_division=0`: every class counts in macro-F1, and one
 * without gold labels and predictions scores 0. With predictions of −1, micro-F1 differs from accuracy, because they
 * lower its recall but not its precision.
 * https://scikit-learn.org/stable/modules/generated/sklearn.metrics.precision_recall_fscore_support.html
 * @throws InputError without items
 */
export function classificationScores(predictions: Predictions) {
  const { classes } = predictions;
  const counts = scoredCounts(predictions);
  const perClass: ClassScores[] = [];
  let items = 0;
  let unparsed = 0;
  let correct = 0;
  for (let label = 0; label < classes; label++) {
    const { hits, alarms, support } = countsOf(label, classes, counts);
    perClass.push({
      precision: ratio(hits, alarms),
      recall: ratio(hits, support),
      f1: ratio(2 * hits, alarms + support),
      support,
    });
    items += support;
    unparsed += counts[label * (classes + 1) + classes];
    correct += hits;
  }
  return {
    accuracy: correct / items,
    macroF1: perClass.reduce((sum, { f1 }) => sum + f1, 0) / classes,
    microF1: ratio(2 * correct, items - unparsed + items),
    perClass,
    items,
    /** Items with a prediction of −1: a miss of their gold class, but a false alarm of no class. */
    unparsed,
  };
}

/** The mean F1 over all classes, as in `classificationScores`. A bootstrap computes it thousands of times. */
export function macroF1(predictions: Predictions): number {
  const { classes } = predictions;
  const counts = scoredCounts(predictions);
  let sum = 0;
  for (let label = 0; label < classes; label++) {
    const { hits, alarms, support } = countsOf(label, classes, counts);
    sum += ratio(2 * hits, alarms + support);
  }
  return sum / classes;
}

function scoredCounts(predictions: Predictions): Int32Array {
  if ((predictions.items ?? predictions.gold).length > 0) return confusionMatrix(predictions);
  throw new InputError('there are no labelled items to score; evaluate on threads that carry the label');
}

function countsOf(label: number, classes: number, counts: Int32Array) {
  let support = 0;
  let alarms = 0;
  for (let column = 0; column <= classes; column++) support += counts[label * (classes + 1) + column];
  for (let row = 0; row < classes; row++) alarms += counts[row * (classes + 1) + label];
  return { hits: counts[label * (classes + 1) + label], alarms, support };
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/**
 * Cohen's kappa: the agreement of two people beyond what their class shares would give by chance (Cohen 1960). Null
 * without items.
 * @param pairs both classes of each item
 */
export function cohensKappa(pairs: readonly (readonly [string, string])[]): number | null {
  if (pairs.length === 0) return null;
  const shareOf = (holds: (pair: readonly [string, string]) => boolean) => pairs.filter(holds).length / pairs.length;
  const agreed = shareOf(([first, second]) => first === second);
  const byChance = [...new Set(pairs.flat())].reduce(
    (sum, label) => sum + shareOf(([first]) => first === label) * shareOf(([, second]) => second === label),
    0,
  );
  return byChance === 1 ? 1 : (agreed - byChance) / (1 - byChance);
}
