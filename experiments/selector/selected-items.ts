import { likeliest, stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { Decided, GreedySelection } from '../../trainers/selector/select-greedily.ts';

interface Labelled {
  /** Confidence in the label; 1 for a human one. */
  readonly confidence: number;
  /** What the model said, by class. */
  readonly distribution: Readonly<Record<string, number>>;
  /** The model's reason; empty where it argues for another label than the human one. */
  readonly explanation: string;
  readonly retainProbability: number;
  readonly retained: boolean;
}

export interface SelectedPost extends Labelled {
  readonly kind: 'post';
  readonly threadId: string;
  readonly postId: string;
  readonly claim: string;
  readonly text: string;
  /** Its stance. */
  readonly label: string;
}

export interface SelectedClaim extends Labelled {
  readonly kind: 'claim';
  readonly threadId: string;
  readonly claim: string;
  /** Its veracity. */
  readonly label: string;
  readonly labelledBy: 'human' | 'machine';
  /** Ids of its retained posts. */
  readonly posts: readonly string[];
}

export type SelectedItem = SelectedPost | SelectedClaim;

/** What a selector made of a thread, for others to train on: its claim, then its replies in time order. */
export function selectedItems(options: {
  thread: Thread;
  selection: GreedySelection;
  /** Index of the veracity that people gave the claim; null where the selector knows none. */
  humanLabel: number | null;
}): { claim: SelectedClaim; posts: SelectedPost[] } {
  const { thread, selection, humanLabel } = options;
  const [{ text: claim }, ...replies] = thread.posts;
  const threadId = thread.id;
  const machine = likeliest(selection.claim.prediction.distribution);
  const isHuman = humanLabel !== null;
  const posts = replies.map(({ id, text }, index): SelectedPost => {
    const decided = selection.posts[index];
    const stance = likeliest(decided.prediction.distribution);
    return {
      kind: 'post',
      threadId,
      postId: id,
      claim,
      text,
      label: stanceClasses[stance],
      ...machineLabel(decided, stanceClasses),
    };
  });
  return {
    claim: {
      kind: 'claim',
      threadId,
      claim,
      label: veracityClasses[humanLabel ?? machine],
      labelledBy: isHuman ? 'human' : 'machine',
      ...machineLabel(selection.claim, veracityClasses),
      ...(isHuman && { confidence: 1 }),
      ...(isHuman && humanLabel !== machine && { explanation: '' }),
      posts: posts.filter(({ retained }) => retained).map(({ postId }) => postId),
    },
    posts,
  };
}

function machineLabel({ prediction, retainProbability, isRetained }: Decided, classes: readonly string[]): Labelled {
  const { distribution, explanation } = prediction;
  return {
    confidence: Math.max(...distribution),
    distribution: Object.fromEntries(classes.map((name, index) => [name, distribution[index]])),
    explanation,
    retainProbability,
    retained: isRetained,
  };
}

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
