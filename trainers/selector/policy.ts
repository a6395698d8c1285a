import { adamUpdateArrays, type OptimizedArrays, optimizedArrays } from '../../src/tensor/adam.ts';
import type { Random } from '../../src/tensor/random.ts';

/*
 * π(retain | s) = σ(w·s + b) (JSDRV, Eq. 3), or with a hidden layer of tanh units. One for each level. Plain arrays: the
 * policy acts on one state at a time, and its gradient is two lines.
 */

/** Parameters and Adam's moments, each flat: `[w (features), b]`, or `[W (hidden × features), c (hidden), w (hidden), b]`. */
export interface SelectorPolicy extends OptimizedArrays {
  readonly features: number;
  /** 0: linear. */
  readonly hidden: number;
}

/** A linear policy starts at π = 1/2 everywhere; a hidden layer needs small random weights below its zero output. */
export function createSelectorPolicy(options: { features: number; hidden: number; random: Random }): SelectorPolicy {
  const { features, hidden, random } = options;
  const size = hidden === 0 ? features + 1 : hidden * (features + 2) + 1;
  const parameters = new Float64Array(size);
  for (let index = 0; index < hidden * features; index++) parameters[index] = random.normal() / Math.sqrt(features);
  return { features, hidden, ...optimizedArrays(parameters) };
}

/** Eq. 3. */
export function retainProbability(policy: SelectorPolicy, state: ArrayLike<number>): number {
  return sigmoid(forward(policy, state).logit);
}

/** Adds weight · ∇ log π(action | state) to `gradient`, laid out as the parameters. */
export function addLogProbabilityGradient(
  policy: SelectorPolicy,
  step: { state: ArrayLike<number>; action: 0 | 1; weight: number; gradient: Float64Array },
): void {
  const { state, action, weight, gradient } = step;
  const reached = forward(policy, state);
  // ∂ log π(a) / ∂ logit = a − σ(logit)
  addLogitGradient(policy, { state, reached, slope: weight * (action - sigmoid(reached.logit)), gradient });
}

/** Adds weight · ∇ H(π(· | state)) to `gradient`: of the entropy of retaining or not. */
export function addEntropyGradient(
  policy: SelectorPolicy,
  step: { state: ArrayLike<number>; weight: number; gradient: Float64Array },
): void {
  const { state, weight, gradient } = step;
  const reached = forward(policy, state);
  const probability = sigmoid(reached.logit);
  // ∂ H / ∂ logit = −logit · π (1 − π)
  const slope = -weight * reached.logit * probability * (1 - probability);
  addLogitGradient(policy, { state, reached, slope, gradient });
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
  const reached = forward(policy, state);
  const probability = sigmoid(reached.logit);
  addLogitGradient(policy, { state, reached, slope: weight * advantage * probability * (1 - probability), gradient });
}

/** Adds slope · ∇ logit. */
function addLogitGradient(
  policy: SelectorPolicy,
  step: { state: ArrayLike<number>; reached: Reached; slope: number; gradient: Float64Array },
): void {
  const { features, hidden, parameters } = policy;
  const { state, reached, slope, gradient } = step;
  const { activations } = reached;
  gradient[gradient.length - 1] += slope;
  if (hidden === 0) {
    for (let index = 0; index < features; index++) gradient[index] += slope * state[index];
    return;
  }
  const output = hidden * (features + 1);
  for (let unit = 0; unit < hidden; unit++) {
    gradient[output + unit] += slope * activations[unit];
    const below = slope * parameters[output + unit] * (1 - activations[unit] ** 2);
    gradient[hidden * features + unit] += below;
    for (let index = 0; index < features; index++) gradient[unit * features + index] += below * state[index];
  }
}

/** One step of Adam uphill. */
export function ascend(policy: SelectorPolicy, options: { gradient: Float64Array; learningRate: number }): void {
  const { gradient, learningRate } = options;
  adamUpdateArrays(policy, { gradient, learningRate: -learningRate, epsilon: 1e-8 });
}

interface Reached {
  readonly logit: number;
  /** Of the hidden units. */
  readonly activations: Float64Array;
}
const noActivations = new Float64Array(0);

function forward(policy: SelectorPolicy, state: ArrayLike<number>): Reached {
  const { features, hidden, parameters } = policy;
  const bias = parameters[parameters.length - 1];
  if (hidden === 0)
    return { logit: dot({ parameters, from: 0, vector: state, length: features }) + bias, activations: noActivations };
  const activations = new Float64Array(hidden);
  for (let unit = 0; unit < hidden; unit++)
    activations[unit] = Math.tanh(
      dot({ parameters, from: unit * features, vector: state, length: features }) +
        parameters[hidden * features + unit],
    );
  const from = hidden * (features + 1);
  return { logit: dot({ parameters, from, vector: activations, length: hidden }) + bias, activations };
}

function dot(options: { parameters: Float64Array; from: number; vector: ArrayLike<number>; length: number }): number {
  const { parameters, from, vector, length } = options;
  let sum = 0;
  for (let index = 0; index < length; index++) sum += parameters[from + index] * vector[index];
  return sum;
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
