/*
 * Every state a stop agent can be in, known before training (EARD §4.1): the state at step t is
 *
 *   s_t = Σ_{i ≤ t} e(m_i) + e(a_{t−1})
 *
 * with no action term at t = 0, so a thread of n posts has 1 + 2(n − 1) states. Further features of the prefix that do
 * not depend on the action (a student's confidence, say) stand behind the sum.
 */

export const CONTINUE = 0;
export const STOP = 1;

export interface StateTableInput {
  /** One entry a thread: the embeddings of its posts in time order, [posts, dimensions], and further features. */
  readonly threads: readonly {
    readonly posts: number;
    readonly embeddings: Float32Array;
    readonly features?: Float32Array;
  }[];
  /** 0 leaves the posts and the actions out of the state. */
  readonly dimensions: number;
  /** Numbers a post in `features`; 0 for none. */
  readonly featureCount?: number;
  /** Embeddings of "Continue." and "Stop.", [dimensions] each. */
  readonly actionEmbeddings: readonly [Float32Array, Float32Array];
}

export interface StateTable {
  /** [rows, columns] row-major. */
  readonly data: Float32Array;
  readonly columns: number;
  /** First row of each thread, and one entry more: the number of rows. */
  readonly firstRows: Int32Array;
  /** Posts in each thread. */
  readonly lengths: Int32Array;
}

export function buildStateTable(input: StateTableInput): StateTable {
  const { dimensions, featureCount = 0, actionEmbeddings } = input;
  const columns = dimensions + featureCount;
  const lengths = Int32Array.from(input.threads, ({ posts }) => posts);
  const firstRows = new Int32Array(lengths.length + 1);
  for (let thread = 0; thread < lengths.length; thread++)
    firstRows[thread + 1] = firstRows[thread] + 2 * lengths[thread] - 1;
  const data = new Float32Array(firstRows[lengths.length] * columns);
  const sum = new Float64Array(dimensions);
  for (const [thread, { embeddings, features }] of input.threads.entries()) {
    sum.fill(0);
    for (let step = 0; step < lengths[thread]; step++) {
      for (let i = 0; i < dimensions; i++) sum[i] += embeddings[step * dimensions + i];
      for (const previous of step === 0 ? [CONTINUE] : [CONTINUE, STOP]) {
        const row = (firstRows[thread] + rowWithinThread(step, previous)) * columns;
        for (let i = 0; i < dimensions; i++) data[row + i] = sum[i] + (step === 0 ? 0 : actionEmbeddings[previous][i]);
        if (features) data.set(features.subarray(step * featureCount, (step + 1) * featureCount), row + dimensions);
      }
    }
  }
  return { data, columns, firstRows, lengths };
}

/** Row of the state at `step` (0-based) of a thread after action `previous`; at step 0 there is none. */
export function stateRow(table: StateTable, state: { thread: number; step: number; previous: number }): number {
  return table.firstRows[state.thread] + rowWithinThread(state.step, state.previous);
}

function rowWithinThread(step: number, previous: number): number {
  return step === 0 ? 0 : 2 * step - 1 + previous;
}
