import { endsAllCalls } from './failures.ts';

/**
 * Runs `work` on each item, `concurrency` at a time; items are drawn only when a worker is free. After a failure no new
 * item is begun. Those under way are awaited, so that their answers are kept, and then the first failure is thrown; a
 * defect goes before a spent budget or an unusable endpoint.
 */
export async function inParallel<Item>(options: {
  items: Iterable<Item> | AsyncIterable<Item>;
  concurrency: number;
  work: (item: Item) => Promise<void>;
}): Promise<void> {
  const { items, concurrency, work } = options;
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const errors: unknown[] = [];
  const worker = async () => {
    try {
      while (errors.length === 0) {
        const next = await iterator.next();
        if (next.done || errors.length > 0) return;
        await work(next.value);
      }
    } catch (error) {
      errors.push(error);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (errors.length > 0) throw errors.find((error) => !endsAllCalls(error)) ?? errors[0];
}
