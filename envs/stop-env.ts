import { CONTINUE, STOP, type StateTable, stateRow } from './state-table.ts';

/*
 * The environment of the stop agent (EARD, §4.1). A thread is shown post by post; action 0 continues, action 1 stops.
 * In training an episode runs to the thread's last post whatever the action, as in the authors' code and in the
 * demonstrations, so that its length says nothing about the reward. `episodeEnd: stop` ends it at the first stop
 * instead; adversarial rewards of one sign then teach the agent to end episodes early or late. `afterStop: stop` keeps the length
 * and makes a stop final: every later action is stop, as in every demonstration, and not the agent's to choose.
 *
 * Every state is a row of the state table, so a rollout reads action probabilities of rows that were scored before and
 * never runs a network itself. One agent's training step is three calls:
 *
 *   const state = initialState();                                   // once
 *   const rows = lookAhead(options, state, { steps, shuffle });      // every row that these steps may visit
 *   ...score `rows` with the policy in one batched pass...
 *   const rollout = rollOut(options, state, { steps, stopProbability, uniform });
 */

/** The fixed part of an environment. The changing part is a `StopEnvState` per agent. */
export interface StopEnvOptions {
  /** A table that may hold more threads than the environment uses. */
  readonly table: StateTable;
  /** Indices of the table's threads that episodes are made of, at least one; [environment threads]. */
  readonly threads: Int32Array;
  /** An episode ends at the thread's last post, or already at the first stop. */
  readonly episodeEnd: 'last-post' | 'stop';
  /** After the first stop of an episode that runs to the last post, the agent chooses freely or always stops. */
  readonly afterStop: 'free' | 'stop';
}

/** The position of one agent, in plain numbers that a checkpoint can hold. */
export interface StopEnvState {
  /** Upcoming places in `StopEnvOptions.threads`, as shuffled passes one after another. */
  order: Int32Array;
  position: number;
  step: number;
  /** The previous action: CONTINUE or STOP. */
  previous: number;
  /** Whether the agent stopped earlier in this episode. */
  stopped: boolean;
}

/** The steps that one agent took, in order; every array is [steps]. */
export interface Rollout {
  /** Rows of the state table. */
  readonly rows: Int32Array;
  /** CONTINUE or STOP. */
  readonly actions: Uint8Array;
  /** 1 where the agent chose its action; 0 where an earlier stop did. */
  readonly chosen: Uint8Array;
  /** 1 where the episode ended with the step. */
  readonly ends: Uint8Array;
  /** Threads of the table and 0-based steps in them. */
  readonly threads: Int32Array;
  readonly steps: Int32Array;
  /** 1 at the step that decides an episode: the first stop, or the last post without one. */
  readonly decides: Uint8Array;
  /** Row of the state after the last step. Its value bootstraps an episode that the rollout cuts. */
  readonly nextRow: number;
}

/** The position of an agent before its first episode. `lookAhead` draws the first threads. */
export function initialState(): StopEnvState {
  return { order: new Int32Array(0), position: 0, step: 0, previous: CONTINUE, stopped: false };
}

/**
 * Finds every row that the next `steps` steps can visit, so that the policy can score them in one pass. Appends as many
 * shuffled passes over the threads to `state.order` as that needs. Only this order and the actions are random.
 * @param options.steps as many as for the next `rollOut`
 * @param options.shuffle a uniform permutation of 0 … length − 1, from the caller's random stream
 * @returns rows of the table; a row may occur more than once
 */
export function lookAhead(
  options: StopEnvOptions,
  state: StopEnvState,
  { steps, shuffle }: { steps: number; shuffle: (length: number) => Int32Array },
): Int32Array {
  const { table, threads, episodeEnd } = options;
  const rows: number[] = [];
  const order = Array.from(state.order.subarray(state.position));
  let position = 0;
  let { step } = state;
  let ahead = 0;
  while (ahead <= steps) {
    if (position === order.length) for (const index of shuffle(threads.length)) order.push(index);
    const thread = threads[order[position]];
    const length = table.lengths[thread];
    for (; step < length && (ahead <= steps || episodeEnd === 'stop'); step++) {
      rows.push(stateRow(table, { thread, step, previous: CONTINUE }));
      if (step > 0) rows.push(stateRow(table, { thread, step, previous: STOP }));
      if (episodeEnd === 'last-post') ahead++;
    }
    // An agent that stops at once sees a new thread at every step.
    if (episodeEnd === 'stop') ahead++;
    step = 0;
    position++;
  }
  state.order = new Int32Array(order);
  state.position = 0;
  return new Int32Array(rows);
}

/**
 * Takes `steps` steps with one agent and advances `state`. Call `lookAhead` for the same number first. The next rollout
 * continues a thread that the end of this one cuts.
 * @param policy.stopProbability π(stop | state) of a row
 * @param policy.uniform draws from [0, 1); called once per step
 */
export function rollOut(
  options: StopEnvOptions,
  state: StopEnvState,
  policy: { steps: number; stopProbability: (row: number) => number; uniform: () => number },
): Rollout {
  const { table, threads, episodeEnd, afterStop } = options;
  const count = policy.steps;
  const rollout = {
    rows: new Int32Array(count),
    actions: new Uint8Array(count),
    chosen: new Uint8Array(count),
    ends: new Uint8Array(count),
    threads: new Int32Array(count),
    steps: new Int32Array(count),
    decides: new Uint8Array(count),
  };
  let row = rowOf(options, state);
  for (let i = 0; i < count; i++) {
    const thread = threads[state.order[state.position]];
    const draw = policy.uniform();
    const isChosen = afterStop === 'free' || !state.stopped;
    const action = !isChosen || draw < policy.stopProbability(row) ? STOP : CONTINUE;
    const isLast = state.step === table.lengths[thread] - 1;
    const ends = isLast || (episodeEnd === 'stop' && action === STOP);
    const decides = !state.stopped && (action === STOP || isLast);
    rollout.rows[i] = row;
    rollout.actions[i] = action;
    rollout.chosen[i] = Number(isChosen);
    rollout.ends[i] = Number(ends);
    rollout.threads[i] = thread;
    rollout.steps[i] = state.step;
    rollout.decides[i] = Number(decides);
    state.stopped = !ends && (state.stopped || action === STOP);
    state.previous = ends ? CONTINUE : action;
    state.step = ends ? 0 : state.step + 1;
    if (ends) state.position++;
    row = rowOf(options, state);
  }
  return { ...rollout, nextRow: row };
}

function rowOf({ table, threads }: StopEnvOptions, { order, position, step, previous }: StopEnvState): number {
  return stateRow(table, { thread: threads[order[position]], step, previous });
}
