import { InputError } from '../errors.ts';
import { Random } from '../tensor/random.ts';
import { quantile } from './summary-statistics.ts';

/** A number computed from items given by index, some of them repeated. The array is reused after the call. */
export type Statistic = (items: Int32Array) => number;

/** What to draw. */
export interface BootstrapOptions {
  /** How many items there are; samples are drawn from 0 … items − 1. */
  readonly items: number;
  readonly seed: number;
  /** 2,000 by default. */
  readonly resamples?: number;
  /** How much of the samples the interval covers; 0.95 by default. */
  readonly confidence?: number;
}

/** A confidence interval, in the units of the statistic. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * Percentile bootstrap (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13): the statistic on the
 * items as they are, and its interval over samples drawn with replacement. The same seed gives the same interval.
 * @throws InputError for no items, no resamples or a confidence outside (0, 1); Error for a statistic that is NaN
 */
export function bootstrapInterval(
  options: BootstrapOptions & { readonly statistic: Statistic },
): Interval & { readonly estimate: number } {
  const { estimate, samples, confidence } = bootstrap(options);
  return { estimate, ...percentileInterval(samples, confidence) };
}

/**
 * Compares two systems on the same items: first minus second, each resample taking the same items for both.
 *
 * The p-value is twice the smaller share of differences on one side of 0. One more difference is counted on either
 * side, so that it is never 0. It is below 0.05 about where the 95 % interval leaves out 0, and 1 for equal systems.
 * @throws as `bootstrapInterval` does
 */
export function comparePaired(
  options: BootstrapOptions & { readonly first: Statistic; readonly second: Statistic },
): Interval & { readonly difference: number; readonly pValue: number } {
  const { estimate, samples, confidence } = bootstrap({
    ...options,
    statistic: (items) => options.first(items) - options.second(items),
  });
  const notAbove = samples.reduce((count, difference) => count + Number(difference <= 0), 1);
  const notBelow = samples.reduce((count, difference) => count + Number(difference >= 0), 1);
  const pValue = Math.min(1, (2 * Math.min(notAbove, notBelow)) / (samples.length + 1));
  return { difference: estimate, ...percentileInterval(samples, confidence), pValue };
}

function bootstrap(options: BootstrapOptions & { readonly statistic: Statistic }): {
  estimate: number;
  samples: Float64Array;
  confidence: number;
} {
  const { items, seed, statistic, resamples = 2000, confidence = 0.95 } = options;
  if (!(items >= 1)) throw new InputError(`a bootstrap over ${items} items is not possible; evaluate on at least one`);
  if (!(resamples >= 1)) throw new InputError(`a bootstrap needs at least one resample, not ${resamples}`);
  if (!(confidence > 0 && confidence < 1))
    throw new InputError(`the confidence is ${confidence} and must lie between 0 and 1, such as 0.95`);
  const random = Random.seeded({ seed, purpose: 'bootstrap' });
  const estimate = statistic(Int32Array.from({ length: items }, (_, item) => item));
  const samples = new Float64Array(resamples);
  const drawn = new Int32Array(items);
  for (let sample = 0; sample < resamples; sample++) {
    for (let position = 0; position < items; position++) drawn[position] = random.integer(items);
    samples[sample] = statistic(drawn);
    if (Number.isNaN(samples[sample]))
      throw new Error('the statistic of a bootstrap sample is not a number; define it for every choice of items');
  }
  return { estimate, samples: samples.sort(), confidence };
}

function percentileInterval(sorted: Float64Array, confidence: number): Interval {
  const tail = (1 - confidence) / 2;
  return { low: quantile(sorted, tail), high: quantile(sorted, 1 - tail) };
}
