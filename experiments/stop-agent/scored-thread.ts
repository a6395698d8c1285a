import type { PolicyDefinition } from '../../checkpoints/policy/policy.ts';
import { alertingScores, replay } from '../../checkpoints/policy/replay.ts';
import type { SeenPost } from '../../checkpoints/policy/state-fields.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type StateMaterials, seenPosts } from './states.ts';

/** A whole thread as a policy and its detector read it. */
export interface ScoredThread {
  readonly thread: Thread;
  /** At every post, given that the policy read on before; 0 where it does not act, or the prediction raises no alert. */
  readonly posts: readonly { readonly score: number; readonly hours: number | null }[];
  /** The detector's label of the first so many posts; null where it gives none. */
  labelAt(posts: number): string | null;
  /** Probability of that label after each post that was judged; 0 without one, and where it raises no alert. */
  readonly confidence: readonly number[];
}

export function scoredThread(
  thread: Thread,
  {
    definition,
    seen,
    scores: given = replay(definition, seen).scores,
  }: { definition: PolicyDefinition; seen: readonly SeenPost[]; scores?: ArrayLike<number> | undefined },
): ScoredThread {
  const { task, queries } = definition;
  const judgementAt = (posts: number) => seen[Math.min(posts, queries.maxPosts) - 1].judgement;
  const labelAt = (posts: number) => task.labels[judgementAt(posts)?.label ?? -1] ?? null;
  const scores = alertingScores(Float32Array.from(given), { task, queries, labelAt });
  const confidence = Float32Array.from(seen, ({ judgement }) => judgement?.probabilities?.[judgement.label] ?? 0);
  return {
    thread,
    posts: Array.from(scores, (score, index) => ({ score, hours: seen[index].hours })),
    labelAt,
    confidence: [...alertingScores(confidence, { task, queries, labelAt })],
  };
}

/** Threads as a policy of a run and its detector read them. */
export async function scoredThreads(
  threads: readonly Thread[],
  of: StateMaterials & {
    definition: PolicyDefinition;
    sequences: ReadonlyMap<string, JudgementSequence>;
    /** By thread id; the policy scores the others. */
    heldOutScores?: ReadonlyMap<string, readonly number[]> | undefined;
  },
): Promise<ScoredThread[]> {
  const { definition, sequences, heldOutScores, ...materials } = of;
  const { fields } = definition;
  const scored: ScoredThread[] = [];
  for (const thread of threads) {
    const seen = await seenPosts(thread, { ...materials, sequence: sequences.get(thread.id), fields });
    scored.push(scoredThread(thread, { definition, seen, scores: heldOutScores?.get(thread.id) }));
  }
  return scored;
}
