import { CONTINUE, STOP, type StateTable, stateRow } from './state-table.ts';

/*
 * The environment of the stop agent (EARD §4.1): a thread is shown post by post, action 0 continues, action 1 stops.
 * In training an episode runs to the thread's last post whatever the action, as in the authors' code and as the
 * demonstrations do, so that its length carries no information about the reward. `episodeEnd: stop` ends it at the
 * first stop instead; adversarial rewards of one sign then teach the agent to end episodes early or late.
 *
 * Transitions are deterministic and every state is a row of the state table, so a rollout asks for the action
 * probabilities of rows that are already scored and never runs a network itself.
 */

export interface StopEnvOptions {
  readonly table: StateTable;
  /** Threads of the table that belong to the environment. */
  readonly threads: Int32Array;
  readonly episodeEnd: 'last-post' | 'stop';
  /** Steps in a thread of n posts: n (the last post is a decision), or n − 1 as in the published code. */
  readonly lastPost: 'decision' | 'dropped';
}

/** Where one agent stands; plain numbers, so that a checkpoint holds it as it is. */
export interface StopEnvState {
  /** Threads to come, as places in `threads`: shuffled passes one after the other. */
  order: Int32Array;
  /** Place of the current thread in `order`, and the step in it. */
  position: number;
  step: number;
  previous: number;
  /** Whether this episode has seen a stop already. */
  stopped: boolean;
}

/** One agent's collected steps, [steps] each. */
export interface Rollout {
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
  /** 1 where the episode ended with the step. */
  readonly ends: Uint8Array;
  /** Thread and step each row belongs to. */
  readonly threads: Int32Array;
  readonly steps: Int32Array;
  /** 1 on the step that decides an episode: the first stop, or the last post where there was none. */
  readonly decides: Uint8Array;
  /** The state after the last step: its value bootstraps a cut episode. */
  readonly nextRow: number;
}

export function initialState(): StopEnvState {
  return { order: new Int32Array(0), position: 0, step: 0, previous: CONTINUE, stopped: false };
}

/** Steps in an episode that runs to its end. */
export function episodeLength({ table, lastPost }: StopEnvOptions, thread: number): number {
  return lastPost === 'decision' ? table.lengths[thread] : Math.max(1, table.lengths[thread] - 1);
}

/**
 * Draws as many passes over the threads as the next `steps` steps can need and returns every row that they can visit,
 * so that the policy scores them in one pass.
 */
export function lookAhead(
  options: StopEnvOptions,
  state: StopEnvState,
  { steps, shuffle }: { steps: number; shuffle: (length: number) => Int32Array },
): Int32Array {
  const { table, threads, episodeEnd } = options;
  const rows: number[] = [];
  let { position, step } = state;
  let ahead = 0;
  while (ahead <= steps) {
    if (position === state.order.length) {
      const remaining = state.order.subarray(state.position);
      position -= state.position;
      state.position = 0;
      state.order = Int32Array.from([...remaining, ...shuffle(threads.length)]);
    }
    const thread = threads[state.order[position]];
    const length = episodeLength(options, thread);
    for (; step < length && (ahead <= steps || episodeEnd === 'stop'); step++) {
      rows.push(stateRow(table, { thread, step, previous: CONTINUE }));
      if (step > 0) rows.push(stateRow(table, { thread, step, previous: STOP }));
      if (episodeEnd === 'last-post') ahead++;
    }
    // An agent that stops at once sees a thread a step.
    if (episodeEnd === 'stop') ahead++;
    step = 0;
    position++;
  }
  return Int32Array.from(rows);
}

/**
 * `steps` steps of one agent from `state`, which is moved on; `lookAhead` must have been called for as many.
 * `stopProbability` gives π(stop) of a row, `uniform` draws from [0, 1). A thread cut by the end of the rollout goes on
 * in the next one.
 */
export function rollOut(
  options: StopEnvOptions,
  state: StopEnvState,
  policy: { steps: number; stopProbability: (row: number) => number; uniform: () => number },
): Rollout {
  const { table, threads, episodeEnd } = options;
  const count = policy.steps;
  const rollout = {
    rows: new Int32Array(count),
    actions: new Uint8Array(count),
    ends: new Uint8Array(count),
    threads: new Int32Array(count),
    steps: new Int32Array(count),
    decides: new Uint8Array(count),
  };
  const currentThread = () => threads[state.order[state.position]];
  const currentRow = () => stateRow(table, { thread: currentThread(), step: state.step, previous: state.previous });
  for (let i = 0; i < count; i++) {
    const thread = currentThread();
    const row = currentRow();
    const action = policy.uniform() < policy.stopProbability(row) ? STOP : CONTINUE;
    const isLast = state.step === episodeLength(options, thread) - 1;
    const ends = isLast || (episodeEnd === 'stop' && action === STOP);
    const decides = !state.stopped && (action === STOP || isLast);
    rollout.rows[i] = row;
    rollout.actions[i] = action;
    rollout.ends[i] = Number(ends);
    rollout.threads[i] = thread;
    rollout.steps[i] = state.step;
    rollout.decides[i] = Number(decides);
    state.stopped = !ends && (state.stopped || action === STOP);
    state.previous = ends ? CONTINUE : action;
    state.step = ends ? 0 : state.step + 1;
    if (ends) state.position++;
  }
  return { ...rollout, nextRow: currentRow() };
}
