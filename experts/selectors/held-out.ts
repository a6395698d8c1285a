import { bootstrapGroups, type Interval } from '../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../src/metrics/classification.ts';

/** What models say of gold rows that they have not seen. Each entry is one set of models that together cover all gold rows. */
export interface HeldOut {
  /** The likeliest class of each gold row. */
  readonly predicted: Int32Array[];
  /** ln p(gold) of each gold row. */
  readonly logLikelihoods: Float64Array[];
  /** Weak labels of held-out gold rows that were taken, over all sets, and how many of them are right. */
  taken: number;
  takenRight: number;
}

export interface Gain {
  /** First minus second, with the 95% interval over gold rows. */
  readonly macroF1: Interval & { readonly difference: number };
  /** The same of the mean log-likelihood of the gold, in nats a row: more is known of it from few rows. */
  readonly logLikelihood: Interval & { readonly difference: number };
}

type HeldOutPredictions = Pick<HeldOut, 'predicted' | 'logLikelihoods'>;

/** What gains are of. */
interface Compared {
  readonly gold: readonly { readonly label: number }[];
  readonly classCount: number;
  /** Rows that are resampled together, such as the replies of a thread; each row by itself unless given. */
  readonly groups?: readonly (readonly number[])[];
}

/** Means over the sets of both, paired by gold rows. */
export function gainOver({ first, ...of }: Compared & { first: HeldOutPredictions; second: HeldOutPredictions }): Gain {
  const [gain] = gainsOver({ ...of, firsts: [first] });
  return gain;
}

/** `gainOver` of each, with the same resamples. */
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
