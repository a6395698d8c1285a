import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/tensor/random.ts';
import {
  addLogProbabilityGradient,
  ascend,
  createSelectorPolicy,
  retainProbability,
  type SelectorPolicy,
} from '../../../trainers/selector/policy.ts';

const random = Random.seeded({ seed: 3, purpose: 'selector policy test' });
const features = 4;

function randomPolicy(): SelectorPolicy {
  const policy = createSelectorPolicy({ features });
  for (const index of policy.parameters.keys()) policy.parameters[index] = random.normal();
  return policy;
}
const randomState = () => Float32Array.from({ length: features }, () => random.normal());

function logProbability(policy: SelectorPolicy, state: Float32Array, action: 0 | 1): number {
  const retain = retainProbability(policy, state);
  return Math.log(action === 1 ? retain : 1 - retain);
}

function gradientOf(policy: SelectorPolicy, step: { state: Float32Array; action: 0 | 1; weight: number }) {
  const gradient = new Float64Array(policy.parameters.length);
  addLogProbabilityGradient(policy, { ...step, gradient });
  return gradient;
}

describe('the policy (Eq. 3)', () => {
  it('is σ(w·s + b)', () => {
    const policy = createSelectorPolicy({ features: 2 });
    policy.parameters.set([0.5, -1, 0.25]);
    // 0.5·2 − 1·3 + 0.25 = −1.75
    expect(retainProbability(policy, [2, 3])).toBeCloseTo(1 / (1 + Math.exp(1.75)), 15);
  });

  it('retains half of everything before it has learnt', () => {
    expect(retainProbability(createSelectorPolicy({ features }), randomState())).toBe(0.5);
  });

  it('stays a probability where the logit is huge', () => {
    const policy = createSelectorPolicy({ features: 1 });
    policy.parameters.set([1000, 0]);
    expect([retainProbability(policy, [1]), retainProbability(policy, [-1])]).toEqual([1, 0]);
  });
});

describe('∇ log π', () => {
  it.each([0, 1] as const)('is that of central finite differences, action %i', (action) => {
    for (let trial = 0; trial < 10; trial++) {
      const policy = randomPolicy();
      const state = randomState();
      const gradient = gradientOf(policy, { state, action, weight: -1.5 });
      const width = 1e-5;
      for (const [index, value] of policy.parameters.entries()) {
        policy.parameters[index] = value + width;
        const above = logProbability(policy, state, action);
        policy.parameters[index] = value - width;
        const below = logProbability(policy, state, action);
        policy.parameters[index] = value;
        expect(gradient[index]).toBeCloseTo((-1.5 * (above - below)) / (2 * width), 7);
      }
    }
  });

  it('adds to what the gradient held', () => {
    const policy = randomPolicy();
    const state = randomState();
    const once = gradientOf(policy, { state, action: 1, weight: 1 });
    const gradient = once.slice();
    addLogProbabilityGradient(policy, { state, action: 1, weight: 2, gradient });
    for (const [index, slope] of once.entries()) expect(gradient[index]).toBeCloseTo(3 * slope, 12);
  });

  it('is nothing on average over the actions, so that a reward which does not depend on them teaches nothing', () => {
    const policy = randomPolicy();
    const state = randomState();
    const retain = retainProbability(policy, state);
    const retained = gradientOf(policy, { state, action: 1, weight: retain });
    const discarded = gradientOf(policy, { state, action: 0, weight: 1 - retain });
    const negated = gradientOf(policy, { state, action: 0, weight: -(1 - retain) });
    for (const [index, slope] of retained.entries()) {
      expect(slope + discarded[index]).toBeCloseTo(0, 14);
      expect(slope + negated[index]).toBeCloseTo(2 * slope, 14);
    }
  });
});

describe('ascend', () => {
  it('takes Adam’s first step: the learning rate in the direction of each slope, whatever its size', () => {
    const policy = createSelectorPolicy({ features: 2 });
    policy.parameters.set([1, 2, 3]);
    ascend(policy, { gradient: Float64Array.of(4, -0.001, 0), learningRate: 0.1 });
    expect(policy.updates).toBe(1);
    expect(policy.parameters[0]).toBeCloseTo(1.1, 8);
    expect(policy.parameters[1]).toBeCloseTo(2 - (0.1 * 0.001) / (0.001 + 1e-8), 12);
    expect(policy.parameters[2]).toBe(3);
    expect(policy.firstMoments[0]).toBeCloseTo(0.4, 14);
    expect(policy.secondMoments[0]).toBeCloseTo(0.016, 14);
  });

  it('takes Adam’s second step', () => {
    const policy = createSelectorPolicy({ features: 0 });
    ascend(policy, { gradient: Float64Array.of(1), learningRate: 0.1 });
    ascend(policy, { gradient: Float64Array.of(-3), learningRate: 0.2 });
    // m = 0.9·0.1 − 0.1·3 over 1 − 0.81; v = 0.999·0.001 + 0.001·9 over 1 − 0.998001.
    const second = (-0.21 / 0.19 / (Math.sqrt(0.009999 / 0.001999) + 1e-8)) * 0.2;
    expect(policy.parameters[0]).toBeCloseTo(0.1 + second, 8);
  });

  it('makes actions with reward likelier and others less likely', () => {
    for (const action of [0, 1] as const)
      for (const weight of [-1, 1]) {
        const policy = randomPolicy();
        const state = randomState();
        const before = logProbability(policy, state, action);
        ascend(policy, { gradient: gradientOf(policy, { state, action, weight }), learningRate: 0.001 });
        expect(Math.sign(logProbability(policy, state, action) - before)).toBe(weight);
      }
  });
});
