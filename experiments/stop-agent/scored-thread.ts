import type { PolicyDefinition, PolicySources } from '../../checkpoints/policy/policy.ts';
import type { DetectorOutput } from '../../checkpoints/policy/policy-post.ts';
import { alertingScores, replay } from '../../checkpoints/policy/replay.ts';
import { readsField, type SeenPost } from '../../checkpoints/policy/state-fields.ts';
import { type JudgementSequence, judgementSequence } from '../../experts/judgement-sequence.ts';
import { hoursSinceClaim, type Post, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';

/* A whole thread as a policy and its detector read it, so that any threshold and any rule can be tried on it without asking again. */

/** The scores and the labels of every prefix of a thread. */
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
    inputs,
    scores: scoresAtPosts = replay(definition, inputs).scores,
  }: { definition: PolicyDefinition; inputs: readonly SeenPost[]; scores?: ArrayLike<number> | undefined },
): ScoredThread {
  const { task, queries } = definition;
  const judgementAt = (posts: number) => inputs[Math.min(posts, queries.maxPosts) - 1].judgement;
  const labelAt = (posts: number) => task.labels[judgementAt(posts)?.label ?? -1] ?? null;
  const scores = alertingScores(Float32Array.from(scoresAtPosts), { task, queries, labelAt });
  const confidence = Float32Array.from(inputs, ({ judgement }) => judgement?.probabilities?.[judgement.label] ?? 0);
  return {
    thread,
    posts: Array.from(scores, (score, index) => ({ score, hours: inputs[index].hours })),
    labelAt,
    confidence: [...alertingScores(confidence, { task, queries, labelAt })],
  };
}

/** A thread with what fields may read at every post. */
export interface ReadThread {
  readonly thread: Thread;
  readonly inputs: readonly SeenPost[];
}

/**
 * Reads threads with the sources of a policy, up to the last post that it would read.
 * @param options.sequences judgements that are there already; the detector judges every prefix of the other threads
 * @throws InputError for a thread without judgements where the policy has no detector
 */
export async function* readWhole(
  threads: readonly Thread[],
  options: {
    policy: { readonly definition: PolicyDefinition; readonly sources: PolicySources };
    sequences?: ReadonlyMap<string, JudgementSequence> | undefined;
  },
): AsyncGenerator<ReadThread & { readonly sequence: JudgementSequence }> {
  const { policy, sequences } = options;
  const { definition, sources } = policy;
  const { fields, limits } = definition;
  const { embed, openStudent, openDetector } = sources;
  const judgedBy = (thread: Thread) => {
    if (openDetector === null)
      throw new InputError('the policy holds no detector, and its predictions are needed; open it with one (`judge`)');
    return judgedThread(thread, { definition, judge: openDetector(thread.id) });
  };
  for (const whole of threads) {
    const posts = whole.posts.slice(0, limits.maxPosts);
    const thread: Thread = { ...whole, posts: [posts[0], ...posts.slice(1)] };
    const sequence = sequences?.get(thread.id) ?? (await judgedBy(thread));
    const embeddings =
      readsField(fields, 'posts') && embed !== null ? await embed(posts.map(({ text }) => text)) : null;
    const readStudent = openStudent?.(thread.id);
    const student: (readonly number[] | null)[] = [];
    for (const post of posts) student.push((await readStudent?.(post)) ?? null);
    yield { thread, sequence, inputs: seenPostsOf(thread, { sequence, embeddings, student }) };
  }
}

/** Threads as a policy and its detector read them. @throws as `readWhole` does */
export async function scoreThreads(
  threads: readonly Thread[],
  of: Parameters<typeof readWhole>[1],
): Promise<ScoredThread[]> {
  const { definition } = of.policy;
  const scored: ScoredThread[] = [];
  for await (const { thread, inputs } of readWhole(threads, of))
    scored.push(scoredThread(thread, { definition, inputs }));
  return scored;
}

/** The judgements of every prefix of a thread, up to the last post that the detector reads. */
export async function judgedThread(
  thread: Thread,
  {
    definition: { queries, task },
    judge,
  }: { definition: PolicyDefinition; judge: (posts: readonly Post[]) => Promise<DetectorOutput> },
): Promise<JudgementSequence> {
  const judgements = [];
  for (let length = 1; length <= Math.min(thread.posts.length, queries.maxPosts); length++)
    judgements.push(await judge(thread.posts.slice(0, length)));
  return judgementSequence({ threadId: thread.id, labels: task.labels, judgements });
}

/**
 * Inputs of fields at each post of a thread.
 * @param parts.embeddings row-major [posts, dimensions]
 * @param parts.student probabilities after each post; shorter where there are none
 */
export function seenPostsOf(
  thread: Thread,
  parts: {
    sequence: JudgementSequence | undefined;
    embeddings: Float32Array | null;
    student: readonly (readonly number[] | null)[];
  },
): SeenPost[] {
  const { sequence, embeddings, student } = parts;
  const dimensions = embeddings === null ? 0 : embeddings.length / thread.posts.length;
  return thread.posts.map((_, index) => ({
    hours: hoursSinceClaim(thread, index),
    embedding: embeddings?.subarray(index * dimensions, (index + 1) * dimensions) ?? null,
    student: student[index] ?? null,
    judgement: judgementAt(sequence, index),
  }));
}

/** The judgement of the first `index + 1` posts; null beyond the end of the sequence. */
function judgementAt(sequence: JudgementSequence | undefined, index: number): SeenPost['judgement'] {
  if (sequence === undefined || index >= sequence.predicted.length) return null;
  const { predicted, probabilities, labels } = sequence;
  const row = probabilities.subarray(index * labels.length, (index + 1) * labels.length);
  return { label: predicted[index], probabilities: row.some(Number.isNaN) ? null : row };
}
