import type { Random } from '../../src/tensor/random.ts';

/** Random items, as many of each class as in `like`. */
export function alikeByClass<Item extends { readonly label: number }>(
  items: readonly Item[],
  { like, random }: { like: readonly Item[]; random: Random },
): Item[] {
  const left = new Map<number, number>();
  for (const { label } of like) left.set(label, (left.get(label) ?? 0) + 1);
  return random.shuffled(items).filter(({ label }) => {
    const count = left.get(label) ?? 0;
    left.set(label, count - 1);
    return count > 0;
  });
}
