import { describe, expect, it } from 'vitest';
import { type CartPoleState, hasFailed, maxSteps, resetCartPole, stepCartPole } from '../../benchmarks/cartpole-env.ts';
import { Random } from '../../src/tensor/random.ts';

describe('the cart and its pole', () => {
  it('move from rest as computed by hand', () => {
    // Upright, pushed right with 10 N on 1.1 kg: common = 10/1.1, θ'' = −common/(½·(4/3 − 0.1/1.1)) = −600/41,
    // x'' = common − 0.05·θ''/1.1 = 400/41.
    const [x, velocity, angle, angularVelocity] = stepCartPole([0, 0, 0, 0], 1);
    expect(x).toBe(0);
    expect(velocity).toBeCloseTo(0.02 * (400 / 41), 12);
    expect(angle).toBe(0);
    expect(angularVelocity).toBeCloseTo(0.02 * (-600 / 41), 12);
  });

  it('obey the equations of Barto, Sutton & Anderson away from the upright', () => {
    const state: CartPoleState = [0.3, -0.7, 0.15, 0.9];
    const [, , angle, angularVelocity] = state;
    const [x, velocity, nextAngle, nextAngularVelocity] = stepCartPole(state, 0);
    const angularAcceleration = (nextAngularVelocity - angularVelocity) / 0.02;
    const acceleration = (velocity - state[1]) / 0.02;
    // The pole about its pivot, (4/3)·l·θ'' = g sin θ − x'' cos θ, and the momentum of the whole, with F = −10 N.
    expect((4 / 3) * 0.5 * angularAcceleration).toBeCloseTo(9.8 * Math.sin(angle) - acceleration * Math.cos(angle), 9);
    const swing = 0.1 * 0.5 * (angularAcceleration * Math.cos(angle) - angularVelocity ** 2 * Math.sin(angle));
    expect(1.1 * acceleration + swing).toBeCloseTo(-10, 9);
    // Euler: positions move by the velocities before the step.
    expect(x).toBeCloseTo(0.3 + 0.02 * -0.7, 12);
    expect(nextAngle).toBeCloseTo(0.15 + 0.02 * 0.9, 12);
  });

  it('are mirrored by a mirrored push', () => {
    const right = stepCartPole([0.1, 0.2, -0.05, 0.4], 1);
    const left = stepCartPole([-0.1, -0.2, 0.05, -0.4], 0);
    for (const [i, value] of right.entries()) expect(left[i]).toBeCloseTo(-value, 12);
  });
});

describe('an episode', () => {
  const degrees = (value: number) => (value * Math.PI) / 180;

  it.each<[string, CartPoleState, boolean]>([
    ['just inside both limits', [2.39, 9, degrees(-11.9), -9], false],
    ['too far right', [2.41, 0, 0, 0], true],
    ['too far left', [-2.41, 0, 0, 0], true],
    ['leaning too far right', [0, 0, degrees(12.1), 0], true],
    ['leaning too far left', [0, 0, degrees(-12.1), 0], true],
  ])('fails or not: %s', (_, state, failed) => {
    expect(hasFailed(state)).toBe(failed);
  });

  it('lasts 500 steps at most', () => expect(maxSteps).toBe(500));

  it('starts within ±0.05, anew each time', () => {
    const random = Random.seeded({ seed: 1, purpose: 'cartpole test' });
    const starts = Array.from({ length: 200 }, () => resetCartPole(() => random.uniform())).flat();
    expect(Math.max(...starts.map(Math.abs))).toBeLessThanOrEqual(0.05);
    expect(Math.max(...starts)).toBeGreaterThan(0.045);
    expect(Math.min(...starts)).toBeLessThan(-0.045);
    expect(new Set(starts).size).toBe(starts.length);
  });
});
