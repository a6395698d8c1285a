import type { Random } from '../src/tensor/random.ts';

/**
 * One server that answers requests one after another, in the order in which they come. They come at random (a Poisson process) at
 * a rate that changes with time, by thinning (Lewis & Shedler 1979); how long each waits follows Lindley's recursion (1952).
 * @param options.rateAt requests a second at a time, at most `mostRate`
 * @param options.serviceSeconds draws how long the next request takes
 * @param options.onRequest when a request came and how long it waited before it was begun, both in seconds
 */
export function simulateQueue(options: {
  readonly seconds: number;
  readonly rateAt: (second: number) => number;
  readonly mostRate: number;
  readonly serviceSeconds: (random: Random) => number;
  readonly random: Random;
  readonly onRequest: (second: number, waited: number) => void;
}): void {
  const { seconds, rateAt, mostRate, serviceSeconds, random, onRequest } = options;
  let now = 0;
  /** When all that came so far will be answered. */
  let free = 0;
  for (;;) {
    now -= Math.log(1 - random.uniform()) / mostRate;
    if (now >= seconds) return;
    if (random.uniform() * mostRate >= rateAt(now)) continue;
    const begun = Math.max(now, free);
    onRequest(now, begun - now);
    free = begun + serviceSeconds(random);
  }
}
