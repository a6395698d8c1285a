import { growingPool, type PostPooling } from '../src/data/post-pooling.ts';

/*
 * Every state that a stop agent can be in, computed before training. EARD (§4.1) says that a state is the posts seen and the
 * previous action; that their vectors are added up is what its authors' code does. The state at step t is
 *
 *   s_t = Σ_{i ≤ t} e(m_i) + e(a_{t−1})
 *
 * with no action term at t = 0. Transitions are deterministic and the previous action is one of two, so a thread of n
 * posts has exactly 1 + 2(n − 1) states. Instead of the sum, the mean of the posts or their sum over √k may be taken.
 * Features of the prefix that do not depend on the action, such as a student's confidence, are appended.
 *
 * The rows of one thread stand together, in this order:
 *
 *   row within the thread   0      1                 2             3                 4             …
 *   step (0-based)          0      1                 1             2                 2
 *   previous action         none   CONTINUE          STOP          CONTINUE          STOP
 *
 * An agent that acts at some posts only has a step for each of those, and the sum in its state still runs over all posts
 * that it has seen.
 */

/** The action that waits for the next post. */
export const CONTINUE = 0;
/** The action that decides on the posts seen so far. */
export const STOP = 1;

/** The input of a state table. A thread of n posts has n rows of embeddings and of features. */
export interface StateTableInput {
  readonly threads: readonly {
    /** The number of posts n, at least 1. */
    readonly posts: number;
    /** Each post's embedding, in the order in which posts are seen; row-major [posts, dimensions]. */
    readonly embeddings: Float32Array;
    /** Features of the prefix that ends with each post; row-major [posts, featureCount]. */
    readonly features?: Float32Array;
    /** Posts seen at each step, increasing and ending with `posts`; 1, 2, … n by default: a step at every post. */
    readonly postsSeen?: readonly number[];
  }[];
  /** Length of an embedding; 0 for states of features only. */
  readonly dimensions: number;
  /** Length of a row of `features`; 0 by default. */
  readonly featureCount?: number;
  /** Embeddings of the texts "Continue." and "Stop.", [dimensions] each, at the index of the action. */
  readonly actionEmbeddings: readonly [Float32Array, Float32Array];
  /** How the embeddings of the posts seen become one vector; their sum by default, as in EARD's code. */
  readonly pooling?: PostPooling;
}

/** The states of a list of threads. `stateRow` finds the row of one state. */
export interface StateTable {
  /** Row-major [rows, columns]. */
  readonly data: Float32Array;
  /** dimensions + featureCount. */
  readonly columns: number;
  /** The first row of each thread, and at the end the number of rows; [threads + 1]. */
  readonly firstRows: Int32Array;
  /** Steps of each thread, [threads]; one per post, unless the agent acts at some posts only. */
  readonly lengths: Int32Array;
  /** Posts seen at each step, [threads][steps]. */
  readonly postsSeen: readonly Int32Array[];
}

/**
 * Computes the states of all threads.
 * @example
 * // Two posts of one number each; the actions are embedded as 10 and 20.
 * const table = buildStateTable({
 *   threads: [{ posts: 2, embeddings: Float32Array.of(1, 2) }],
 *   dimensions: 1,
 *   actionEmbeddings: [Float32Array.of(10), Float32Array.of(20)],
 * });
 * table.data; // [1, 13, 23]: post 1; posts 1 and 2 after "continue"; posts 1 and 2 after "stop"
 */
export function buildStateTable(input: StateTableInput): StateTable {
  const { dimensions, featureCount = 0, actionEmbeddings, pooling = 'sum' } = input;
  const columns = dimensions + featureCount;
  const postsSeen = input.threads.map(({ posts, postsSeen: actingPosts }) =>
    Int32Array.from(actingPosts ?? Array.from({ length: posts }, (_, step) => step + 1)),
  );
  const lengths = Int32Array.from(postsSeen, ({ length }) => length);
  const firstRows = new Int32Array(lengths.length + 1);
  for (let thread = 0; thread < lengths.length; thread++)
    firstRows[thread + 1] = firstRows[thread] + 2 * lengths[thread] - 1;
  const data = new Float32Array(firstRows[lengths.length] * columns);
  for (const [thread, { embeddings, features }] of input.threads.entries()) {
    const pool = growingPool({ dimensions, pooling });
    let added = 0;
    for (let step = 0; step < lengths[thread]; step++) {
      const length = postsSeen[thread][step];
      for (; added < length; added++) pool.add(embeddings.subarray(added * dimensions, (added + 1) * dimensions));
      for (const previous of step === 0 ? [CONTINUE] : [CONTINUE, STOP]) {
        const row = (firstRows[thread] + rowWithinThread(step, previous)) * columns;
        pool.write(data, row, step === 0 ? null : actionEmbeddings[previous]);
        if (features) data.set(features.subarray((length - 1) * featureCount, length * featureCount), row + dimensions);
      }
    }
  }
  return { data, columns, firstRows, lengths, postsSeen };
}

/**
 * The row of one state, counted from 0 over the whole table.
 * @param state.thread index of the thread in the table
 * @param state.step 0-based; at step t the agent has seen `table.postsSeen[thread][t]` posts
 * @param state.previous CONTINUE or STOP; ignored at step 0, which has no previous action
 */
export function stateRow(table: StateTable, state: { thread: number; step: number; previous: number }): number {
  return table.firstRows[state.thread] + rowWithinThread(state.step, state.previous);
}

function rowWithinThread(step: number, previous: number): number {
  return step === 0 ? 0 : 2 * step - 1 + previous;
}
