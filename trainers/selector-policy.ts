import type { Random } from '../src/tensor/random.ts';

/*
 * π(retain | s) = σ(w·s + b) (JSDRV, Eq. 3), or with a hidden layer of tanh units. One for each level. Plain arrays: the
 * policy acts on one state at a time, and its gradient is two lines.
 */

/** Parameters and Adam's moments, each flat: `[w (features), b]`, or `[W (hidden × features), c (hidden), w (hidden), b]`. */
export interface SelectorPolicy {
  readonly features: number;
  /** 0: linear. */
  readonly hidden: number;
  readonly parameters: Float64Array;
  readonly firstMoments: Float64Array;
  readonly secondMoments: Float64Array;
  updates: number;
}

/** A linear policy starts at π = 1/2 everywhere; a hidden layer needs small random weights below its zero output. */
export function createSelectorPolicy(options: { features: number; hidden: number; random: Random }): SelectorPolicy {
  const { features, hidden, random } = options;
  const size = hidden === 0 ? features + 1 : hidden * (features + 2) + 1;
  const parameters = new Float64Array(size);
  for (let index = 0; index < hidden * features; index++) parameters[index] = random.normal() / Math.sqrt(features);
  const zeros = () => new Float64Array(size);
  return { features, hidden, parameters, firstMoments: zeros(), secondMoments: zeros(), updates: 0 };
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
  const { features, hidden, parameters } = policy;
  const { state, action, weight, gradient } = step;
  const { logit, activations } = forward(policy, state);
  // ∂ log π(a) / ∂ logit = a − σ(logit)
  const slope = weight * (action - sigmoid(logit));
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

/** Adds weight · ∇ H(π(· | state)) to `gradient`: of the entropy of retaining or not. */
export function addEntropyGradient(
  policy: SelectorPolicy,
  step: { state: ArrayLike<number>; weight: number; gradient: Float64Array },
): void {
  const { logit } = forward(policy, step.state);
  const probability = sigmoid(logit);
  // ∂ H / ∂ logit = −logit · π (1 − π), where ∂ log π(retain) / ∂ logit = 1 − π
  addLogProbabilityGradient(policy, { ...step, action: 1, weight: -step.weight * logit * probability });
}

const adam = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

/** One step of Adam (Kingma & Ba, 2015) uphill. */
export function ascend(policy: SelectorPolicy, options: { gradient: Float64Array; learningRate: number }): void {
  const { parameters, firstMoments, secondMoments } = policy;
  const { gradient, learningRate } = options;
  policy.updates++;
  const correction1 = 1 - adam.beta1 ** policy.updates;
  const correction2 = 1 - adam.beta2 ** policy.updates;
  for (let index = 0; index < parameters.length; index++) {
    const slope = gradient[index];
    firstMoments[index] += (1 - adam.beta1) * (slope - firstMoments[index]);
    secondMoments[index] += (1 - adam.beta2) * (slope ** 2 - secondMoments[index]);
    const size = Math.sqrt(secondMoments[index] / correction2) + adam.epsilon;
    parameters[index] += (learningRate * firstMoments[index]) / correction1 / size;
  }
}

function forward(policy: SelectorPolicy, state: ArrayLike<number>): { logit: number; activations: Float64Array } {
  const { features, hidden, parameters } = policy;
  const dot = (from: number, vector: ArrayLike<number>, length: number) => {
    let sum = 0;
    for (let index = 0; index < length; index++) sum += parameters[from + index] * vector[index];
    return sum;
  };
  const bias = parameters[parameters.length - 1];
  if (hidden === 0) return { logit: dot(0, state, features) + bias, activations: new Float64Array(0) };
  const activations = Float64Array.from({ length: hidden }, (_, unit) =>
    Math.tanh(dot(unit * features, state, features) + parameters[hidden * features + unit]),
  );
  return { logit: dot(hidden * (features + 1), activations, hidden) + bias, activations };
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
