import { buildStateTable, type StateTable } from '../../envs/state-table.ts';
import type { PostPooling } from '../../src/data/post-pooling.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { Encoder } from '../../src/text/encoder.ts';

/** The inputs of an agent from a thread. At least one of the two is present. */
export interface StateSource {
  /** The embeddings of the posts seen as one vector, and that of the previous action; null leaves both out. */
  readonly posts: {
    readonly dimensions: number;
    /** Row-major [texts, dimensions]. */
    readonly embed: (texts: readonly string[]) => Promise<Float32Array>;
    /** Their sum where left out. */
    readonly pooling?: PostPooling;
  } | null;
  /** Further numbers that depend on the prefix alone, such as a student's confidence; null for none. */
  readonly features: {
    /** Numbers a post. */
    readonly count: number;
    /** Row-major [posts, count]. */
    readonly of: (thread: Thread) => Promise<Float32Array>;
  } | null;
  /** Posts seen at each step of a thread of so many posts (see `StateTableInput`); left out, there is a step at every post. */
  readonly postsSeen?: ((posts: number) => readonly number[]) | undefined;
}

/** The previous action as a text, as EARD's code has it. */
export const actionTexts = ['Continue.', 'Stop.'] as const;

/**
 * Every state of these threads, in their order (see envs/state-table.ts).
 * @throws InputError where the source gives too few or too many numbers, or some that are not finite
 */
export async function stateTableOf(threads: readonly Thread[], source: StateSource): Promise<StateTable> {
  const { posts, features, postsSeen } = source;
  const dimensions = posts?.dimensions ?? 0;
  const embed = async (texts: readonly string[]) =>
    posts === null
      ? new Float32Array(0)
      : numbers(await posts.embed(texts), { of: 'embeddings', rows: texts.length, columns: dimensions });
  const vectors = await embed(threads.flatMap((thread) => thread.posts.map(({ text }) => text)));
  const actions = await embed(actionTexts);
  let start = 0;
  const rows = [];
  for (const thread of threads) {
    const end = start + thread.posts.length * dimensions;
    const embeddings = vectors.subarray(start, end);
    const row = { posts: thread.posts.length, embeddings, postsSeen: postsSeen?.(thread.posts.length) };
    if (features === null) rows.push(row);
    else {
      const expected = { of: `features of thread ${thread.id}`, rows: thread.posts.length, columns: features.count };
      rows.push({ ...row, features: numbers(await features.of(thread), expected) });
    }
    start = end;
  }
  return buildStateTable({
    threads: rows,
    dimensions,
    featureCount: features?.count ?? 0,
    actionEmbeddings: [actions.subarray(0, dimensions), actions.subarray(dimensions)],
    pooling: posts?.pooling ?? 'sum',
  });
}

/** Numbers of the wrong count would be read as those of other posts, and one that is not finite spoils every sum after it. */
function numbers(
  values: Float32Array,
  { of, rows, columns }: { of: string; rows: number; columns: number },
): Float32Array {
  if (!(values instanceof Float32Array) || values.length !== rows * columns)
    throw new InputError(
      `the ${of} must be a Float32Array of ${rows} × ${columns} = ${rows * columns} numbers, and ${values?.length} came`,
    );
  const bad = values.find((value) => !Number.isFinite(value));
  if (bad !== undefined) throw new InputError(`there is ${bad} among the ${of}; all of them must be finite`);
  return values;
}

/** The states of the paper, for any threads: sums of embeddings by one encoder. */
export function embeddingStates(encoder: Encoder): (threads: readonly Thread[]) => Promise<StateTable> {
  const posts = { dimensions: encoder.dimensions, embed: (texts: readonly string[]) => encoder.encode(texts) };
  return (threads) => stateTableOf(threads, { posts, features: null });
}
