import { Random } from '../../src/tensor/random.ts';
import type { TestSet } from './data.ts';

/**
 * Holds out a share of the threads of each test set, for stances of the supervised bound and for choosing settings (the
 * paper's "Val"). The same for every seed; a thread in several sets is on one side in all.
 */
export function splitTests(
  tests: readonly TestSet[],
  { share }: { share: number },
): { tested: TestSet[]; heldOut: TestSet[] } {
  const ids = [...new Set(tests.flatMap(({ threads }) => threads.map(({ id }) => id)))];
  const order = Random.seeded({ seed: 0, purpose: 'held-out test threads' }).shuffled(ids);
  const out = new Set(order.slice(0, Math.round(share * ids.length)));
  const part = (isOut: boolean) =>
    tests.map(({ name, threads }) => ({ name, threads: threads.filter(({ id }) => out.has(id) === isOut) }));
  return { tested: part(false), heldOut: part(true) };
}
