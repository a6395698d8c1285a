import { beta1, beta2, biasCorrections } from './adam.ts';

/* Adam (adam.ts) for models too small to be worth a tensor. */

/** Parameters on one flat vector with their Adam moments, each [parameters]. */
export interface OptimizedArrays {
  readonly parameters: Float64Array;
  readonly firstMoments: Float64Array;
  readonly secondMoments: Float64Array;
  /** Updates done, for the bias correction. */
  updates: number;
}

/** Parameters before their first update. The array is kept, not copied, and updated in place. */
export function optimizedArrays(parameters: Float64Array): OptimizedArrays {
  const zeros = () => new Float64Array(parameters.length);
  return { parameters, firstMoments: zeros(), secondMoments: zeros(), updates: 0 };
}

/**
 * One Adam step downhill, in place; a negative learning rate goes uphill.
 * @param options.gradient [parameters]
 */
export function adamUpdateArrays(
  state: OptimizedArrays,
  options: { gradient: Float64Array; learningRate: number; epsilon: number },
): void {
  const { parameters, firstMoments, secondMoments } = state;
  const { gradient, learningRate, epsilon } = options;
  state.updates++;
  const corrections = biasCorrections(state.updates);
  for (let index = 0; index < parameters.length; index++) {
    const slope = gradient[index];
    firstMoments[index] += (1 - beta1) * (slope - firstMoments[index]);
    secondMoments[index] += (1 - beta2) * (slope ** 2 - secondMoments[index]);
    const size = Math.sqrt(secondMoments[index] / corrections.second) + epsilon;
    parameters[index] -= (learningRate * firstMoments[index]) / corrections.first / size;
  }
}
