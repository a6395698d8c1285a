import { adamUpdateArrays, type OptimizedArrays, optimizedArrays } from '../../src/tensor/adam-arrays.ts';

/*
 * π(retain | s) = σ(w·s + b) (JSDRV, Eq. 3), one for each level. Plain arrays: the policy acts on one state at a time, and its
 * gradient is two lines.
 */

/** Parameters `[w (features), b]` and Adam's moments, each flat. */
export interface SelectorPolicy extends OptimizedArrays {
  readonly features: number;
}

/** It starts at π = 1/2 everywhere. */
export function createSelectorPolicy({ features }: { features: number }): SelectorPolicy {
  return { features, ...optimizedArrays(new Float64Array(features + 1)) };
}

/** Eq. 3. */
export function retainProbability(policy: SelectorPolicy, state: ArrayLike<number>): number {
  return sigmoid(logitOf(policy, state));
}

/** Adds weight · ∇ log π(action | state) to `gradient`, laid out as the parameters. */
export function addLogProbabilityGradient(
  policy: SelectorPolicy,
  step: { state: ArrayLike<number>; action: 0 | 1; weight: number; gradient: Float64Array },
): void {
  const { state, action, weight, gradient } = step;
  // ∂ log π(a) / ∂ logit = a − σ(logit)
  addLogitGradient(policy, { state, slope: weight * (action - retainProbability(policy, state)), gradient });
}

/** Adds weight · ∇ H(π(· | state)) to `gradient`: of the entropy of retaining or not. */
export function addEntropyGradient(
  policy: SelectorPolicy,
  step: { state: ArrayLike<number>; weight: number; gradient: Float64Array },
): void {
  const { state, weight, gradient } = step;
  const logit = logitOf(policy, state);
  const probability = sigmoid(logit);
  // ∂ H / ∂ logit = −logit · π (1 − π)
  addLogitGradient(policy, { state, slope: -weight * logit * probability * (1 - probability), gradient });
}

/**
 * Adds weight · ∇ E[r] to `gradient`, where the rewards of both actions are known: E[r] = π r₁ + (1 − π) r₀.
 * @param step.advantage r₁ − r₀
 */
export function addExpectedRewardGradient(
  policy: SelectorPolicy,
  step: { state: ArrayLike<number>; advantage: number; weight: number; gradient: Float64Array },
): void {
  const { state, advantage, weight, gradient } = step;
  const probability = retainProbability(policy, state);
  addLogitGradient(policy, { state, slope: weight * advantage * probability * (1 - probability), gradient });
}

/** Adds slope · ∇ logit. */
function addLogitGradient(
  { features }: SelectorPolicy,
  { state, slope, gradient }: { state: ArrayLike<number>; slope: number; gradient: Float64Array },
): void {
  for (let index = 0; index < features; index++) gradient[index] += slope * state[index];
  gradient[features] += slope;
}

/** One step of Adam uphill. */
export function ascend(policy: SelectorPolicy, options: { gradient: Float64Array; learningRate: number }): void {
  const { gradient, learningRate } = options;
  adamUpdateArrays(policy, { gradient, learningRate: -learningRate, epsilon: 1e-8 });
}

function logitOf({ features, parameters }: SelectorPolicy, state: ArrayLike<number>): number {
  let logit = 0;
  for (let index = 0; index < features; index++) logit += parameters[index] * state[index];
  return logit + parameters[features];
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
