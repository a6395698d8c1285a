import { stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import type { SelectedClaim, SelectedPost } from './selected-items.ts';

export interface Count {
  readonly shown: number;
  readonly retained: number;
}

export interface SelectionCounts {
  readonly posts: Count & { readonly byStance: Readonly<Record<string, Count>> };
  readonly claims: Count & { readonly labelledByHuman: Count; readonly byVeracity: Readonly<Record<string, Count>> };
}

/** How many items were shown and how many retained, by class. */
export function selectionCounts(items: {
  claims: readonly SelectedClaim[];
  posts: readonly SelectedPost[];
}): SelectionCounts {
  const { claims, posts } = items;
  return {
    posts: { ...countOf(posts), byStance: countsByLabel(posts, stanceClasses) },
    claims: {
      ...countOf(claims),
      labelledByHuman: countOf(claims.filter(({ labelledBy }) => labelledBy === 'human')),
      byVeracity: countsByLabel(claims, veracityClasses),
    },
  };
}

function countsByLabel(
  items: readonly { readonly label: string; readonly retained: boolean }[],
  labels: readonly string[],
): Record<string, Count> {
  return Object.fromEntries(labels.map((label) => [label, countOf(items.filter((item) => item.label === label))]));
}

function countOf(items: readonly { readonly retained: boolean }[]): Count {
  return { shown: items.length, retained: items.filter(({ retained }) => retained).length };
}
