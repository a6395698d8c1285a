import { Random } from '../../src/tensor/random.ts';
import type { TestSet } from './selector-data.ts';

/** Holds out a share of the threads of each test set, for the supervised bound; a thread in several sets is on one side in all. */
export function splitTests(
  tests: readonly TestSet[],
  { share, seed }: { share: number; seed: number },
): { tested: TestSet[]; heldOut: TestSet[] } {
  const ids = [...new Set(tests.flatMap(({ threads }) => threads.map(({ id }) => id)))];
  const order = Random.seeded({ seed, purpose: 'threads for the supervised bound' }).shuffled(ids);
  const out = new Set(order.slice(0, Math.round(share * ids.length)));
  const part = (isOut: boolean) =>
    tests.map(({ name, threads }) => ({ name, threads: threads.filter(({ id }) => out.has(id) === isOut) }));
  return { tested: part(false), heldOut: part(true) };
}
