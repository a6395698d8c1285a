import { bootstrapGroups, type Interval } from '../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../src/metrics/classification.ts';

/** Predictions for held-out gold rows. Each entry is one set of models that together cover all gold rows. */
export interface HeldOut {
  /** The likeliest class of each gold row. */
  readonly predicted: Int32Array[];
  /** ln p(gold) of each gold row. */
  readonly logLikelihoods: Float64Array[];
  /** Selected weak labels of held-out gold rows, over all sets, and how many of them are right. */
  taken: number;
  takenRight: number;
}

export interface Gain {
  /** First minus second, with the 95% interval over gold rows. */
  readonly macroF1: Interval & { readonly difference: number };
  /** Mean log-likelihood of the gold, first minus second, in nats per row. It needs fewer rows than macro-F1. */
  readonly logLikelihood: Interval & { readonly difference: number };
}

type HeldOutPredictions = Pick<HeldOut, 'predicted' | 'logLikelihoods'>;

/** The data behind gains. */
interface Compared {
  readonly gold: readonly { readonly label: number }[];
  readonly classCount: number;
  /** Rows that are resampled together, such as the replies of a thread; single rows by default. */
  readonly groups?: readonly (readonly number[])[];
}

/** Means over the sets of both, paired by gold rows. */
export function gainOver({ first, ...of }: Compared & { first: HeldOutPredictions; second: HeldOutPredictions }): Gain {
  const [gain] = gainsOver({ ...of, firsts: [first] });
  return gain;
}

/** The gain of each over `second`, with shared resamples. */
export function gainsOver(
  options: Compared & { firsts: readonly HeldOutPredictions[]; second: HeldOutPredictions },
): Gain[] {
  const { firsts, second, gold, classCount, groups } = options;
  const labels = Int32Array.from(gold, ({ label }) => label);
  const macroF1Of = ({ predicted }: HeldOutPredictions, items: Int32Array) =>
    mean(predicted, (labelsOfSet) => macroF1({ gold: labels, predicted: labelsOfSet, classes: classCount, items }));
  const gains = firsts.map((first) => gold.map((_, row) => logLikelihoodOf(first, row) - logLikelihoodOf(second, row)));
  const intervals = bootstrapGroups({
    groups: [groups?.length ?? gold.length],
    seed: 1,
    resamples: 1000,
    statistics(_, drawn) {
      const items = groups === undefined ? drawn : Int32Array.from([...drawn].flatMap((group) => groups[group]));
      const control = macroF1Of(second, items);
      return [
        ...firsts.map((first) => macroF1Of(first, items) - control),
        ...gains.map((gain) => mean(items, (row) => gain[row])),
      ];
    },
    scoreRange: (index) => (index < firsts.length ? [-1, 1] : null),
  }).map(({ estimate: difference, low, high }) => ({ difference, low, high }));
  return firsts.map((_, index) => ({ macroF1: intervals[index], logLikelihood: intervals[firsts.length + index] }));
}

/** Mean over the sets. */
function logLikelihoodOf({ logLikelihoods }: HeldOutPredictions, row: number): number {
  return mean(logLikelihoods, (likelihoods) => likelihoods[row]);
}

/** Macro-F1, mean over the sets. */
export function macroF1OfHeldOut({ predicted }: HeldOut, labels: Int32Array, classes: number): number {
  return mean(predicted, (labelsOfSet) => macroF1({ gold: labels, predicted: labelsOfSet, classes }));
}

function mean<T>(values: Iterable<T>, of: (value: T) => number): number {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    sum += of(value);
    count++;
  }
  return sum / count;
}
