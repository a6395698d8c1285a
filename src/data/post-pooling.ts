/*
 * How the posts that a policy has read become one vector. Their sum keeps growing, so after standardisation the first
 * posts lie close together. A mean, or a sum over √k, does not grow. State tables, state fields and earshot_policy.py
 * share these numbers.
 */

export const postPoolings = ['sum', 'mean', 'sqrt'] as const;
/** sum: Σ e; mean: Σ e / k; sqrt: Σ e / √k, of the first k posts. */
export type PostPooling = (typeof postPoolings)[number];

/** Whether a state needs ln k besides the pooled posts: a sum's length shows the number of posts, the others do not. */
export function tellsPostCount(pooling: PostPooling): boolean {
  return pooling !== 'sum';
}

/** Opens a thread, whose posts are pooled as it grows. The sum is in double precision, so that long threads lose nothing. */
export function growingPool({ dimensions, pooling }: { dimensions: number; pooling: PostPooling }) {
  const sum = new Float64Array(dimensions);
  let posts = 0;
  return {
    add(embedding: Float32Array): void {
      for (let i = 0; i < dimensions; i++) sum[i] += embedding[i];
      posts++;
    },
    /** Writes the pooled posts, plus the embedding of the previous action if there was one. */
    write(into: Float32Array, from: number, action: Float32Array | null): void {
      const divisor = divisorOf(pooling, posts);
      for (let i = 0; i < dimensions; i++) into[from + i] = sum[i] / divisor + (action === null ? 0 : action[i]);
    },
  };
}

function divisorOf(pooling: PostPooling, posts: number): number {
  if (pooling === 'sum') return 1;
  return pooling === 'mean' ? posts : Math.sqrt(posts);
}
