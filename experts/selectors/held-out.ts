import { bootstrapInterval, comparePaired, type Interval } from '../../src/metrics/bootstrap.ts';
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

/**
 * Means over the sets of both, paired by gold rows.
 * @param options.groups rows that are resampled together, such as the replies of a thread; each row by itself unless given
 */
export function gainOver(options: {
  first: Pick<HeldOut, 'predicted' | 'logLikelihoods'>;
  second: Pick<HeldOut, 'predicted' | 'logLikelihoods'>;
  gold: readonly { readonly label: number }[];
  classCount: number;
  groups?: readonly (readonly number[])[];
}): Gain {
  const { first, second, gold, classCount, groups } = options;
  const labels = Int32Array.from(gold, ({ label }) => label);
  const drawing = { items: groups?.length ?? gold.length, seed: 1, resamples: 1000 };
  const rowsOf = (drawn: Int32Array) =>
    groups === undefined ? drawn : Int32Array.from([...drawn].flatMap((group) => groups[group]));
  const macroF1Of =
    ({ predicted }: Pick<HeldOut, 'predicted'>) =>
    (drawn: Int32Array) => {
      const items = rowsOf(drawn);
      return mean(predicted, (own) => macroF1({ gold: labels, predicted: own, classes: classCount, items }));
    };
  const range = () => [-1, 1] as const;
  const { pValue: _, ...byF1 } = comparePaired({
    ...drawing,
    scoreRange: range,
    first: macroF1Of(first),
    second: macroF1Of(second),
  });
  const gains = gold.map((_gold, row) => logLikelihoodOf(first, row) - logLikelihoodOf(second, row));
  const { estimate, ...interval } = bootstrapInterval({
    ...drawing,
    statistic: (drawn) => mean(rowsOf(drawn), (row) => gains[row]),
  });
  return { macroF1: byF1, logLikelihood: { difference: estimate, ...interval } };
}

/** Mean over the sets. */
function logLikelihoodOf({ logLikelihoods }: Pick<HeldOut, 'logLikelihoods'>, row: number): number {
  return mean(logLikelihoods, (own) => own[row]);
}

/** Macro-F1, mean over the sets. */
export function macroF1OfHeldOut({ predicted }: HeldOut, labels: Int32Array, classes: number): number {
  return mean(predicted, (own) => macroF1({ gold: labels, predicted: own, classes }));
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
