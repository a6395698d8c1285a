import { groupBy } from '../../src/data/group-by.ts';
import type { Random } from '../../src/tensor/random.ts';
import type { WeakLabel } from './selector.ts';

/**
 * The places of the best items: the same share of every class, at least one of each, so that selections differ only in
 * their items. Among equal scores the earlier item wins.
 * @param options.share above 0, at most 1
 * @returns in ascending order
 */
export function takeShare(options: {
  items: readonly Pick<WeakLabel, 'label'>[];
  scores: ArrayLike<number>;
  share: number;
}): number[] {
  const { items, scores, share } = options;
  return [...groupBy(items.keys(), (place) => items[place].label).values()]
    .flatMap((places) =>
      places
        .sort((left, right) => scores[right] - scores[left])
        .slice(0, Math.max(1, Math.round(share * places.length))),
    )
    .sort((left, right) => left - right);
}

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
