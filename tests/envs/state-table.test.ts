import { describe, expect, it } from 'vitest';
import { buildStateTable, CONTINUE, STOP, type StateTable, stateRow } from '../../envs/state-table.ts';

const actionEmbeddings = [Float32Array.of(0.5, 0), Float32Array.of(0, 0.25)] as const;
const threads = [
  { posts: 3, embeddings: Float32Array.of(1, 2, 4, 8, 16, 32) },
  { posts: 1, embeddings: Float32Array.of(-1, -2) },
  { posts: 2, embeddings: Float32Array.of(3, 0, 0, 5) },
];

function stateOf(table: StateTable, thread: number, step: number, previous: number): number[] {
  const row = stateRow(table, { thread, step, previous });
  return [...table.data.subarray(row * table.columns, (row + 1) * table.columns)];
}

describe('buildStateTable', () => {
  it('sums the posts so far and the previous action, which the first state has not', () => {
    const table = buildStateTable({ threads, dimensions: 2, actionEmbeddings });
    expect(stateOf(table, 0, 0, CONTINUE)).toEqual([1, 2]);
    expect(stateOf(table, 0, 0, STOP)).toEqual([1, 2]);
    expect(stateOf(table, 0, 1, CONTINUE)).toEqual([5.5, 10]);
    expect(stateOf(table, 0, 1, STOP)).toEqual([5, 10.25]);
    expect(stateOf(table, 0, 2, CONTINUE)).toEqual([21.5, 42]);
    expect(stateOf(table, 0, 2, STOP)).toEqual([21, 42.25]);
    expect(stateOf(table, 1, 0, CONTINUE)).toEqual([-1, -2]);
    expect(stateOf(table, 2, 1, STOP)).toEqual([3, 5.25]);
  });

  it('takes the mean of the posts, or their sum over √k, and adds the action to that', () => {
    const mean = buildStateTable({ threads, dimensions: 2, actionEmbeddings, pooling: 'mean' });
    expect(stateOf(mean, 0, 0, CONTINUE)).toEqual([1, 2]);
    expect(stateOf(mean, 0, 1, CONTINUE)).toEqual([5 / 2 + 0.5, 10 / 2]);
    expect(stateOf(mean, 0, 2, STOP)).toEqual([7, 14.25]);
    const sqrt = buildStateTable({ threads, dimensions: 2, actionEmbeddings, pooling: 'sqrt' });
    expect(stateOf(sqrt, 0, 0, CONTINUE)).toEqual([1, 2]);
    expect(stateOf(sqrt, 0, 2, CONTINUE)).toEqual(
      [21 / Math.sqrt(3) + 0.5, 42 / Math.sqrt(3)].map((value) => Math.fround(value)),
    );
  });

  it('divides by the posts seen, not by the steps, where it has a step at some posts only', () => {
    const [first] = threads;
    const table = buildStateTable({
      threads: [{ ...first, postsSeen: [2, 3] }],
      dimensions: 2,
      actionEmbeddings,
      pooling: 'mean',
    });
    expect(stateOf(table, 0, 0, CONTINUE)).toEqual([2.5, 5]);
  });

  it('has a step at some posts only where it is told so, each summing all posts seen', () => {
    const [first, ...others] = threads;
    const features = Float32Array.of(10, 20, 30);
    const table = buildStateTable({
      threads: [{ ...first, features, postsSeen: [2, 3] }, ...others.map((own) => ({ ...own, features }))],
      dimensions: 2,
      featureCount: 1,
      actionEmbeddings,
    });
    expect([...table.lengths]).toEqual([2, 1, 2]);
    expect(table.postsSeen.map((seen) => [...seen])).toEqual([[2, 3], [1], [1, 2]]);
    expect(stateOf(table, 0, 0, CONTINUE)).toEqual([5, 10, 20]);
    expect(stateOf(table, 0, 1, STOP)).toEqual([21, 42.25, 30]);
    expect(stateOf(table, 1, 0, CONTINUE)).toEqual([-1, -2, 10]);
    expect(table.firstRows.at(-1)).toBe(3 + 1 + 3);
  });

  it('has 1 + 2(n − 1) rows for a thread of n posts, each state a row of its own', () => {
    const table = buildStateTable({ threads, dimensions: 2, actionEmbeddings });
    expect([...table.firstRows]).toEqual([0, 5, 6, 9]);
    expect([...table.lengths]).toEqual([3, 1, 2]);
    expect(table.data).toHaveLength(9 * 2);
    const rows = threads.flatMap(({ posts }, thread) =>
      Array.from({ length: posts }, (_, step) =>
        (step === 0 ? [CONTINUE] : [CONTINUE, STOP]).map((previous) => stateRow(table, { thread, step, previous })),
      ).flat(),
    );
    expect(rows).toEqual(Array.from({ length: 9 }, (_, row) => row));
  });

  it('puts the features of the prefix behind the sum, the same whatever the action', () => {
    const withFeatures = threads.map((thread, index) => ({
      ...thread,
      features: Float32Array.from({ length: thread.posts }, (_, step) => 100 * index + step),
    }));
    const table = buildStateTable({ threads: withFeatures, dimensions: 2, featureCount: 1, actionEmbeddings });
    expect(table.columns).toBe(3);
    expect(stateOf(table, 0, 2, CONTINUE)).toEqual([21.5, 42, 2]);
    expect(stateOf(table, 0, 2, STOP)).toEqual([21, 42.25, 2]);
    expect(stateOf(table, 2, 1, STOP)).toEqual([3, 5.25, 201]);
  });

  it('holds features alone at dimensions 0', () => {
    const none = new Float32Array(0);
    const table = buildStateTable({
      threads: [{ posts: 2, embeddings: none, features: Float32Array.of(1, 2, 3, 4) }],
      dimensions: 0,
      featureCount: 2,
      actionEmbeddings: [none, none],
    });
    expect(table.columns).toBe(2);
    expect([...table.data]).toEqual([1, 2, 3, 4, 3, 4]);
  });

  it('sums long threads in double precision', () => {
    const posts = 100_000;
    const table = buildStateTable({
      threads: [{ posts, embeddings: new Float32Array(posts).fill(0.1) }],
      dimensions: 1,
      actionEmbeddings: [Float32Array.of(0), Float32Array.of(0)],
    });
    expect(stateOf(table, 0, posts - 1, CONTINUE)[0]).toBeCloseTo(posts * Math.fround(0.1), 2);
  });
});
