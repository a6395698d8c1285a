/** Below any log-complement that float32 can hold: the largest probability under 1 is 1 − 6e-8, whose is −16.6. */
const lowest = -20;

/**
 * log(1 − p) given log p: the other action's log-probability where there are two. A policy so sure of one action that its
 * float32 log-probability is 0 gives the other a very small one, not −∞.
 */
export function logComplement(logProbability: number): number {
  return Math.max(lowest, Math.log1p(-Math.exp(logProbability)));
}
