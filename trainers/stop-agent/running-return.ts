/*
 * Rewards divided by the running standard deviation of their discounted sum, the reward scaling of OpenAI Baselines'
 * VecNormalize that EARD's code uses: the scale of a discriminator's logits drifts, the value function's should not.
 */
export interface RunningReturn {
  discountedSum: number;
  mean: number;
  variance: number;
  count: number;
}

export function initialRunningReturn(): RunningReturn {
  return { discountedSum: 0, mean: 0, variance: 1, count: 1e-4 };
}

/** Scales one agent's rewards in step order, [steps]; `state` is moved on. */
export function scaleRewards(
  state: RunningReturn,
  steps: { rewards: Float32Array; ends: Uint8Array; discount: number },
): Float32Array {
  const { rewards, ends, discount } = steps;
  const scaled = new Float32Array(rewards.length);
  for (let step = 0; step < rewards.length; step++) {
    state.discountedSum = state.discountedSum * discount + rewards[step];
    const delta = state.discountedSum - state.mean;
    const total = state.count + 1;
    state.mean += delta / total;
    state.variance = (state.variance * state.count + (delta ** 2 * state.count) / total) / total;
    state.count = total;
    scaled[step] = rewards[step] / Math.sqrt(state.variance + 1e-8);
    if (ends[step] === 1) state.discountedSum = 0;
  }
  return scaled;
}
