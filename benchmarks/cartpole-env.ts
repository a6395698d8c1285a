/*
 * CartPole-v1 as in Gymnasium: the cart and pole of Barto, Sutton & Anderson (1983) without friction, integrated by
 * Euler's method, 0.02 s a step. Every step pays 1, the one that fails included. An episode fails when the pole leans
 * more than 12° or the cart is more than 2.4 m off; after 500 steps it is cut without having failed.
 */

/** Cart position (m) and velocity, pole angle (rad, 0 is upright) and angular velocity. */
export type CartPoleState = readonly [x: number, velocity: number, angle: number, angularVelocity: number];

export const maxSteps = 500;

const gravity = 9.8;
const cartMass = 1;
const poleMass = 0.1;
const totalMass = cartMass + poleMass;
const halfPoleLength = 0.5;
const force = 10;
const secondsPerStep = 0.02;
const maxAngle = (12 * Math.PI) / 180;
const maxDistance = 2.4;
const initialRange = 0.05;

/** All four numbers uniform in ±0.05. */
export function resetCartPole(uniform: () => number): CartPoleState {
  const draw = () => initialRange * (2 * uniform() - 1);
  return [draw(), draw(), draw(), draw()];
}

/** Action 0 pushes to the left, 1 to the right. Positions move by the velocities before the step. */
export function stepCartPole([x, velocity, angle, angularVelocity]: CartPoleState, action: number): CartPoleState {
  const sine = Math.sin(angle);
  const cosine = Math.cos(angle);
  const push = action === 1 ? force : -force;
  const common = (push + poleMass * halfPoleLength * angularVelocity ** 2 * sine) / totalMass;
  const angularAcceleration =
    (gravity * sine - cosine * common) / (halfPoleLength * (4 / 3 - (poleMass * cosine ** 2) / totalMass));
  const acceleration = common - (poleMass * halfPoleLength * angularAcceleration * cosine) / totalMass;
  return [
    x + secondsPerStep * velocity,
    velocity + secondsPerStep * acceleration,
    angle + secondsPerStep * angularVelocity,
    angularVelocity + secondsPerStep * angularAcceleration,
  ];
}

export function hasFailed([x, , angle]: CartPoleState): boolean {
  return Math.abs(x) > maxDistance || Math.abs(angle) > maxAngle;
}
