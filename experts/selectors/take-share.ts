import { groupBy } from '../../src/data/group-by.ts';
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
