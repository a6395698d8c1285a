/**
 * Generalised advantage estimation (Schulman et al. 2016, Eq. 16) and the returns A + V that the value function is
 * fitted to. One agent's steps in order, [steps].
 */
export function generalizedAdvantages(input: {
  /** Reward of each step, and the value estimate of the state it was taken in. */
  readonly rewards: Float32Array;
  readonly values: Float32Array;
  /** 1 where the episode ended with this step, else 0. */
  readonly ends: Uint8Array;
  /** Value of the state after the last step; counts only if the last step did not end its episode. */
  readonly bootstrapValue: number;
  readonly discount: number;
  readonly lambda: number;
}): { advantages: Float32Array; returns: Float32Array } {
  const { rewards, values, ends, discount, lambda } = input;
  const advantages = new Float32Array(rewards.length);
  const returns = new Float32Array(rewards.length);
  let nextValue = input.bootstrapValue;
  let nextAdvantage = 0;
  for (let step = rewards.length - 1; step >= 0; step--) {
    const goesOn = 1 - ends[step];
    const delta = rewards[step] + discount * goesOn * nextValue - values[step];
    nextAdvantage = delta + discount * lambda * goesOn * nextAdvantage;
    nextValue = values[step];
    advantages[step] = nextAdvantage;
    returns[step] = nextAdvantage + values[step];
  }
  return { advantages, returns };
}

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
  let { discountedSum, mean, variance, count } = state;
  const scaled = new Float32Array(rewards.length);
  for (let step = 0; step < rewards.length; step++) {
    discountedSum = discountedSum * discount + rewards[step];
    const delta = discountedSum - mean;
    const total = count + 1;
    mean += delta / total;
    variance = (variance * count + (delta ** 2 * count) / total) / total;
    count = total;
    scaled[step] = rewards[step] / Math.sqrt(variance + 1e-8);
    if (ends[step] === 1) discountedSum = 0;
  }
  Object.assign(state, { discountedSum, mean, variance, count });
  return scaled;
}
