import { setImmediate as nextTurn } from 'node:timers/promises';
import { BudgetSpentError, EndpointUnusableError } from '../../llm/failures.ts';

/**
 * `work` on every item, so many at a time; results in the order of the items. After a failure no item is begun; what is
 * under way is awaited, so that its answers are kept, and then the first failure is thrown, a defect before a spent budget.
 */
export async function inParallel<Item, Result>(options: {
  items: readonly Item[];
  concurrency: number;
  work: (item: Item, index: number) => Promise<Result>;
}): Promise<Result[]> {
  const { items, concurrency, work } = options;
  const results: Result[] = [];
  const errors: unknown[] = [];
  let next = 0;
  const worker = async () => {
    try {
      while (errors.length === 0 && next < items.length) {
        const index = next++;
        results[index] = await work(items[index], index);
        // Where all answers are known, nothing else would let Ctrl-C be heard.
        await nextTurn();
      }
    } catch (error) {
      errors.push(error);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  if (errors.length > 0) throw errors.find((error) => !isEnd(error)) ?? errors[0];
  return results;
}

/** After these, asking about anything else is in vain. */
export function isEnd(error: unknown): boolean {
  return error instanceof BudgetSpentError || error instanceof EndpointUnusableError;
}
