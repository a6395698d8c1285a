import { describe, expect, it } from 'vitest';
import { buildStateTable, CONTINUE, STOP, stateRow } from '../../envs/state-table.ts';
import {
  initialState,
  lookAhead,
  type Rollout,
  rollOut,
  type StopEnvOptions,
  type StopEnvState,
} from '../../envs/stop-env.ts';
import { Random } from '../../src/tensor/random.ts';

function environment(lengths: number[], options: Partial<StopEnvOptions> = {}): StopEnvOptions {
  const none = new Float32Array(0);
  const table = buildStateTable({
    threads: lengths.map((posts) => ({ posts, embeddings: none })),
    dimensions: 0,
    actionEmbeddings: [none, none],
  });
  const threads = Int32Array.from(lengths, (_, thread) => thread);
  return { table, threads, episodeEnd: 'last-post', afterStop: 'free', ...options };
}

const inOrder = (length: number) => Int32Array.from({ length }, (_, i) => i);

/** Looks ahead and rolls out with a policy of the row; `uniform` is ½, so π above ½ stops. */
function roll(
  options: StopEnvOptions,
  steps: number,
  stops: (row: number) => boolean,
  state: StopEnvState = initialState(),
): Rollout {
  lookAhead(options, state, { steps, shuffle: inOrder });
  return rollOut(options, state, { steps, stopProbability: (row) => Number(stops(row)), uniform: () => 0.5 });
}

describe('an episode', () => {
  it('goes on with stop after a final one, which the agent did not choose, across rollouts, too', () => {
    const options = environment([4, 2], { afterStop: 'stop' });
    const { table } = options;
    const stopRow = stateRow(table, { thread: 0, step: 1, previous: CONTINUE });
    const state = initialState();
    const first = roll(options, 3, (row) => row === stopRow, state);
    expect([...first.actions]).toEqual([0, 1, 1]);
    expect([...first.chosen]).toEqual([1, 1, 0]);
    expect([...first.decides]).toEqual([0, 1, 0]);
    const second = roll(options, 3, () => false, state);
    expect([...second.threads]).toEqual([0, 1, 1]);
    expect([...second.actions]).toEqual([1, 0, 0]);
    expect([...second.chosen]).toEqual([0, 1, 1]);
  });

  it('runs to the last post whatever the action, and remembers the action before', () => {
    const options = environment([3, 2]);
    const { table } = options;
    // Stops at the thread's second post (step 1 after a continue), and again or not afterwards.
    const stopRow = stateRow(table, { thread: 0, step: 1, previous: CONTINUE });
    const rollout = roll(options, 5, (row) => row === stopRow);
    expect([...rollout.threads]).toEqual([0, 0, 0, 1, 1]);
    expect([...rollout.steps]).toEqual([0, 1, 2, 0, 1]);
    expect([...rollout.actions]).toEqual([0, 1, 0, 0, 0]);
    expect([...rollout.ends]).toEqual([0, 0, 1, 0, 1]);
    expect([...rollout.decides]).toEqual([0, 1, 0, 0, 1]);
    expect([...rollout.rows]).toEqual([
      stateRow(table, { thread: 0, step: 0, previous: CONTINUE }),
      stopRow,
      stateRow(table, { thread: 0, step: 2, previous: STOP }),
      stateRow(table, { thread: 1, step: 0, previous: CONTINUE }),
      stateRow(table, { thread: 1, step: 1, previous: CONTINUE }),
    ]);
    expect(rollout.nextRow).toBe(stateRow(table, { thread: 0, step: 0, previous: CONTINUE }));
  });

  it('ends at the first stop with episodeEnd: stop', () => {
    const options = environment([3, 2, 4], { episodeEnd: 'stop' });
    const rollout = roll(options, 4, (row) => row === stateRow(options.table, { thread: 0, step: 1, previous: 0 }));
    expect([...rollout.threads]).toEqual([0, 0, 1, 1]);
    expect([...rollout.steps]).toEqual([0, 1, 0, 1]);
    expect([...rollout.ends]).toEqual([0, 1, 0, 1]);
    expect([...rollout.decides]).toEqual([0, 1, 0, 1]);
    expect(rollout.nextRow).toBe(stateRow(options.table, { thread: 2, step: 0, previous: CONTINUE }));
  });

  it('sees a thread a step when everything stops and stops end it', () => {
    const options = environment([3, 2, 4], { episodeEnd: 'stop' });
    const rollout = roll(options, 7, () => true);
    expect([...rollout.threads]).toEqual([0, 1, 2, 0, 1, 2, 0]);
    expect([...rollout.decides]).toEqual(Array(7).fill(1));
  });

  it('is one step on a thread of one post', () => {
    const rollout = roll(environment([1]), 3, (row) => row === 0);
    expect([...rollout.rows]).toEqual([0, 0, 0]);
    expect([...rollout.actions]).toEqual([1, 1, 1]);
    expect([...rollout.ends]).toEqual([1, 1, 1]);
    expect([...rollout.decides]).toEqual([1, 1, 1]);
  });

  it('roams only the threads of the environment', () => {
    const rollout = roll(environment([2, 2, 2], { threads: Int32Array.of(2, 0) }), 6, () => false);
    expect([...rollout.threads]).toEqual([2, 2, 0, 0, 2, 2]);
  });

  it('shuffles passes over very many threads', () => {
    const threads = Int32Array.from({ length: 300_000 }, () => 0);
    const rollout = roll(environment([1], { threads }), 2, () => true);
    expect([...rollout.ends]).toEqual([1, 1]);
  });
});

const fields = ['rows', 'actions', 'ends', 'threads', 'steps', 'decides'] as const;
const variants: { episodeEnd: StopEnvOptions['episodeEnd'] }[] = [{ episodeEnd: 'last-post' }, { episodeEnd: 'stop' }];

/** A random environment and a policy that stops by a fixed coin of each row. */
function randomProblem(seed: number, variant: (typeof variants)[number]) {
  const random = Random.seeded({ seed, purpose: 'environment' });
  const lengths = Array.from({ length: 1 + random.integer(6) }, () => 1 + random.integer(7));
  const options = environment(lengths, variant);
  const coins = Array.from({ length: options.table.firstRows[lengths.length] }, () => random.uniform() ** 2);
  return { random, options, stopProbability: (row: number) => coins[row] };
}

describe.each(variants)('rollouts with episodeEnd $episodeEnd', (variant) => {
  it('cut anywhere and continued neither lose nor repeat a step', () => {
    for (let seed = 0; seed < 20; seed++) {
      const { random, options, stopProbability } = randomProblem(seed, variant);
      const total = 40;
      const uniforms = Array.from({ length: total }, () => random.uniform());
      const run = (sizes: number[]) => {
        const shuffles = Random.seeded({ seed, purpose: 'passes' });
        const state = initialState();
        let drawn = 0;
        return sizes.map((steps) => {
          lookAhead(options, state, { steps, shuffle: (length) => shuffles.permutation(length) });
          return rollOut(options, state, { steps, stopProbability, uniform: () => uniforms[drawn++] });
        });
      };
      const sizes: number[] = [];
      while (sizes.reduce((sum, size) => sum + size, 0) < total)
        sizes.push(Math.min(1 + random.integer(9), total - sizes.reduce((sum, size) => sum + size, 0)));
      const [whole] = run([total]);
      const parts = run(sizes);
      for (const field of fields) expect(parts.flatMap((part) => [...part[field]])).toEqual([...whole[field]]);
      // The state after a cut is where the next part goes on.
      for (let i = 0; i + 1 < parts.length; i++) expect(parts[i].nextRow).toBe(parts[i + 1].rows[0]);
      expect(parts[parts.length - 1].nextRow).toBe(whole.nextRow);
    }
  });

  it('visit only rows that lookAhead returned', () => {
    for (let seed = 0; seed < 60; seed++) {
      const { random, options, stopProbability } = randomProblem(seed, variant);
      const state = initialState();
      for (let call = 0; call < 6; call++) {
        const steps = 1 + random.integer(25);
        const reachable = new Set(
          lookAhead(options, state, { steps, shuffle: (length) => random.permutation(length) }),
        );
        const rollout = rollOut(options, state, { steps, stopProbability, uniform: () => random.uniform() });
        for (const row of [...rollout.rows, rollout.nextRow]) expect(reachable).toContain(row);
      }
    }
  });

  it('see every thread once a pass, and decide exactly once an episode', () => {
    for (let seed = 0; seed < 20; seed++) {
      const { random, options, stopProbability } = randomProblem(seed, variant);
      const state = initialState();
      const parts = Array.from({ length: 12 }, () => {
        lookAhead(options, state, { steps: 11, shuffle: (length) => random.permutation(length) });
        return rollOut(options, state, { steps: 11, stopProbability, uniform: () => random.uniform() });
      });
      const all = (field: (typeof fields)[number]) => parts.flatMap((part) => [...part[field]]);
      const [threads, steps, ends, decides, actions] = [
        all('threads'),
        all('steps'),
        all('ends'),
        all('decides'),
        all('actions'),
      ];
      const episodes: { thread: number; decisions: number[]; firstStop: number; last: number }[] = [];
      let start = 0;
      for (const [i, end] of ends.entries()) {
        if (end === 0) continue;
        const range = Array.from({ length: i + 1 - start }, (_, j) => start + j);
        expect(new Set(range.map((j) => threads[j])).size).toBe(1);
        expect(range.map((j) => steps[j])).toEqual(inOrderList(range.length));
        episodes.push({
          thread: threads[i],
          decisions: range.filter((j) => decides[j] === 1).map((j) => steps[j]),
          firstStop: range.filter((j) => actions[j] === STOP).map((j) => steps[j])[0] ?? steps[i],
          last: steps[i],
        });
        start = i + 1;
      }
      for (const { thread, decisions, firstStop, last } of episodes) {
        expect(decisions).toEqual([firstStop]);
        if (variant.episodeEnd === 'last-post') expect(last).toBe(options.table.lengths[thread] - 1);
        else expect(last).toBe(firstStop);
      }
      const count = options.threads.length;
      for (let pass = 0; pass + count <= episodes.length; pass += count)
        expect(new Set(episodes.slice(pass, pass + count).map(({ thread }) => thread)).size).toBe(count);
    }
  });
});

function inOrderList(length: number): number[] {
  return [...inOrder(length)];
}
