import { describe, expect, it } from 'vitest';
import { buildStateTable, CONTINUE, STOP, stateRow } from '../../../envs/state-table.ts';
import { demonstrationPairs } from '../../../trainers/stop-agent/pairs.ts';
import type { TableDemonstration } from '../../../trainers/stop-agent/problem.ts';

const none = new Float32Array(0);
const table = buildStateTable({
  threads: [4, 1, 3, 8, 2].map((posts) => ({ posts, embeddings: none })),
  dimensions: 0,
  actionEmbeddings: [none, none],
});
const row = (thread: number, step: number, previous: number) => stateRow(table, { thread, step, previous });
const demonstration = (thread: number, stopStep: number): TableDemonstration => ({
  expert: 'conservative',
  thread,
  stopStep,
});

describe('demonstrationPairs', () => {
  it('pairs each action with the state of its step: continue up to the stop, stop from there on', () => {
    const pairs = demonstrationPairs(table, [demonstration(0, 2)], { balance: 'none' });
    expect([...pairs.rows]).toEqual([row(0, 0, CONTINUE), row(0, 1, CONTINUE), row(0, 2, CONTINUE), row(0, 3, STOP)]);
    expect([...pairs.actions]).toEqual([CONTINUE, CONTINUE, STOP, STOP]);
  });

  it('stops throughout where the expert stops at the first post', () => {
    const pairs = demonstrationPairs(table, [demonstration(2, 0)], { balance: 'none' });
    expect([...pairs.rows]).toEqual([row(2, 0, CONTINUE), row(2, 1, STOP), row(2, 2, STOP)]);
    expect([...pairs.actions]).toEqual([STOP, STOP, STOP]);
  });

  it('makes one pair of a thread of one post', () => {
    const same = demonstrationPairs(table, [demonstration(1, 0)], { balance: 'none' });
    expect([...same.rows]).toEqual([row(1, 0, CONTINUE)]);
    expect([...same.actions]).toEqual([STOP]);
  });

  it('keeps the order of the demonstrations', () => {
    const both = [demonstration(2, 1), demonstration(0, 3)];
    const pairs = demonstrationPairs(table, both, { balance: 'none' });
    expect(pairs.rows).toHaveLength(7);
    expect(pairs.rows[0]).toBe(row(2, 0, CONTINUE));
    expect(pairs.rows[3]).toBe(row(0, 0, CONTINUE));
  });

  it('is empty without demonstrations, balanced or not', () => {
    for (const balance of ['none', 'stop-step'] as const)
      expect(demonstrationPairs(table, [], { balance }).rows).toHaveLength(0);
  });
});

describe('balance: stop-step', () => {
  const balanced = (demonstrations: TableDemonstration[]) =>
    demonstrationPairs(table, demonstrations, { balance: 'stop-step' });
  /** How often each thread's first state occurs: that many times its trajectory was taken. */
  const timesTaken = (demonstrations: TableDemonstration[]) => {
    const { rows } = balanced(demonstrations);
    return demonstrations.map(({ thread }) => rows.filter((own) => own === row(thread, 0, CONTINUE)).length);
  };

  it('repeats the trajectories of a small stratum until it has as many pairs as the largest', () => {
    // Stop step 0: thread 3, 8 pairs. Stop step 1: thread 4, 2 pairs, so 4 times.
    expect(timesTaken([demonstration(3, 0), demonstration(4, 1)])).toEqual([1, 4]);
  });

  it('takes a stratum in turn, the last one cut short by whole trajectories', () => {
    // Stratum 1–2: threads 0 (4 pairs) and 2 (3 pairs): 4 + 3 + 4 = 11 ≥ 8.
    expect(timesTaken([demonstration(3, 0), demonstration(0, 1), demonstration(2, 2)])).toEqual([1, 2, 1]);
  });

  it('counts steps 0, 1–2, 3–6 and 7 up as strata', () => {
    // Thread 3 has 8 pairs and stops at 3: a stratum of its own, beside thread 2's at 2; 3 · 3 ≥ 8.
    expect(timesTaken([demonstration(3, 3), demonstration(2, 2)])).toEqual([1, 3]);
    expect(timesTaken([demonstration(3, 7), demonstration(0, 3)])).toEqual([1, 2]);
    // Of one stratum, nothing is repeated.
    expect(timesTaken([demonstration(3, 6), demonstration(0, 3)])).toEqual([1, 1]);
  });
});
