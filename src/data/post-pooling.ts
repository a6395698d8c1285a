/*
 * How the posts that an agent has seen become one vector. Their sum keeps growing, so after standardisation its first posts lie
 * close together; a mean, or a sum over √k, does not. Training, deciding and exported policies (here and in
 * earshot_policy.py) share these numbers.
 */

export const postPoolings = ['sum', 'mean', 'sqrt'] as const;
/** sum: Σ e; mean: Σ e / k; sqrt: Σ e / √k, of the first k posts. */
export type PostPooling = (typeof postPoolings)[number];

/** What the sum over the first `posts` posts is divided by. */
export function poolDivisor(pooling: PostPooling, posts: number): number {
  if (pooling === 'sum') return 1;
  return pooling === 'mean' ? posts : Math.sqrt(posts);
}

/** Whether a state holds ln k beside the pooled posts: a sum tells by its length how many there are, the others do not. */
export function tellsPostCount(pooling: PostPooling): boolean {
  return pooling !== 'sum';
}
