export interface GaeInput {
  /** Reward of each step, and the value estimate of the state it was taken in. */
  readonly rewards: Float32Array;
  readonly values: Float32Array;
  /** 1 where the episode ended with this step, else 0. */
  readonly ends: Uint8Array;
  /** Value of the state after the last step; counts only if the last step did not end its episode. */
  readonly bootstrapValue: number;
  readonly discount: number;
  readonly lambda: number;
}

/**
 * Generalised advantage estimation (Schulman et al. 2016, Eq. 16) and the returns A + V that the value function is
 * fitted to. One agent's steps in order, [steps].
 */
export function generalizedAdvantages(input: GaeInput): { advantages: Float32Array; returns: Float32Array } {
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
