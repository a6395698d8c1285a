/*
 * The MDP of an agent that has several detectors to ask. It reads a thread step by step, and each step is a number of posts at
 * which some detector may be asked. At a step it waits for the next one, asks a detector about the posts read so far, or answers
 * with what one of them said last. Each detector's last judgement is known, and how old it is.
 *
 *   state    (t, a_1 … a_K): the step, and the step that each of K detectors was last asked at; −1 for never
 *   actions  0 wait · 1 … K ask a detector · K+1 … 2K answer with a detector's last judgement
 *
 * All judgements of a training thread are stored, so a thread is a known, deterministic MDP of Σ_t Π_k (1 + steps up to t at
 * which k may be asked) states. Every action but an answer leads to a state of a higher number, and an answer ends the episode. So
 * expectations over episodes are one pass up (where the agent gets to) and one down (what comes of it).
 */

/** The action that waits for the next step. */
export const WAIT = 0;

/** The action that asks a detector, from 0, and the one that answers with its last judgement. */
export const askAction = (detector: number): number => 1 + detector;
export const answerAction = (detector: number, detectors: number): number => 1 + detectors + detector;

/** One thread's MDP: states by number, the first at 0. */
export interface QueryMdp {
  readonly detectors: number;
  /** 1 + 2 · detectors. */
  readonly actions: number;
  /** [states]: the step of each. */
  readonly step: Int32Array;
  /** Row-major [states, detectors]: the step that each detector was last asked at, −1 for never. */
  readonly askedAt: Int32Array;
  /** Row-major [states, actions]: the state that follows; `ENDS` after an answer, `NOT_ALLOWED` where there is no such action. */
  readonly next: Int32Array;
}

export const ENDS = -1;
export const NOT_ALLOWED = -2;

/**
 * @param askable [steps][detectors]: who may be asked at which step. At the last step somebody must be, or no answer would be certain
 *   to be possible.
 * @throws Error without steps, or where nobody may be asked at the last one
 */
export function queryMdp(askable: readonly (readonly boolean[])[]): QueryMdp {
  const steps = askable.length;
  if (!askable[steps - 1]?.some(Boolean)) throw new Error('at the last step of a thread a detector must be askable');
  const detectors = askable[0].length;
  const actions = 1 + 2 * detectors;
  const states = askable.flatMap((_, step) =>
    statesOfStep(askable.slice(0, step + 1)).map((asked) => ({ step, asked })),
  );
  const keyOf = (step: number, asked: readonly number[]) => `${step} ${asked}`;
  const numberOf = new Map(states.map(({ step, asked }, state) => [keyOf(step, asked), state]));
  const next = new Int32Array(states.length * actions).fill(NOT_ALLOWED);
  for (const [state, { step, asked }] of states.entries()) {
    const follow = (action: number, at: number, then: readonly number[]) => {
      next[state * actions + action] = numberOf.get(keyOf(at, then)) ?? NOT_ALLOWED;
    };
    if (step < steps - 1) follow(WAIT, step + 1, asked);
    for (let detector = 0; detector < detectors; detector++) {
      if (askable[step][detector] && asked[detector] < step)
        follow(askAction(detector), step, asked.with(detector, step));
      if (asked[detector] >= 0) next[state * actions + answerAction(detector, detectors)] = ENDS;
    }
  }
  return {
    detectors,
    actions,
    step: Int32Array.from(states, ({ step }) => step),
    askedAt: Int32Array.from(states.flatMap(({ asked }) => asked)),
    next,
  };
}

/** Every (a_1 … a_K) at the last of these steps, in rising order, so that to ask leads to a later one. */
function statesOfStep(askable: readonly (readonly boolean[])[]): number[][] {
  return askable[0].reduce<number[][]>(
    (own, _, detector) => {
      const choices = [-1, ...askable.flatMap((at, step) => (at[detector] ? [step] : []))];
      return own.flatMap((asked) => choices.map((choice) => [...asked, choice]));
    },
    [[]],
  );
}

/** What the actions of one thread's MDP bring at once. */
export interface QueryPrices {
  /** [steps][detectors]: worth of answering with the judgement that a detector gives at a step, before the delay. */
  readonly worth: readonly (readonly number[])[];
  /** [steps]: subtracted from the worth of an answer at a step. */
  readonly delay: readonly number[];
  /** [steps][detectors]: what asking costs; NaN where a detector cannot be asked. */
  readonly cost: readonly (readonly number[])[];
}

/** r(s, a) of every action, row-major [states, actions]; 0 where it is not allowed. */
export function queryRewards(mdp: QueryMdp, { worth, delay, cost }: QueryPrices): Float64Array {
  const { detectors, actions, step, askedAt, next } = mdp;
  const rewards = new Float64Array(next.length);
  for (let state = 0; state < step.length; state++)
    for (let detector = 0; detector < detectors; detector++) {
      const at = step[state];
      const ask = state * actions + askAction(detector);
      const answer = state * actions + answerAction(detector, detectors);
      if (next[ask] !== NOT_ALLOWED) rewards[ask] = -cost[at][detector];
      if (next[answer] === ENDS) rewards[answer] = worth[askedAt[state * detectors + detector]][detector] - delay[at];
    }
  return rewards;
}

/**
 * How likely each state is visited in an episode, [states].
 * @param policy π(a | s), row-major [states, actions]; 0 where an action is not allowed
 */
export function queryVisits({ actions, step, next }: QueryMdp, policy: ArrayLike<number>): Float64Array {
  const visits = new Float64Array(step.length);
  visits[0] = 1;
  for (let pair = 0; pair < next.length; pair++)
    if (next[pair] >= 0) visits[next[pair]] += visits[Math.floor(pair / actions)] * policy[pair];
  return visits;
}

/**
 * What is to come: V(s) = Σ_a π(a|s) Q(s, a), and Q(s, a) = r(s, a) + V(next).
 * @param rewards row-major [states, actions], as `queryRewards` gives them
 * @returns V, [states], and Q, row-major [states, actions]; Q is 0 where an action is not allowed
 */
export function queryValues(
  { actions, step, next }: QueryMdp,
  { policy, rewards }: { policy: ArrayLike<number>; rewards: ArrayLike<number> },
): { values: Float64Array; ofActions: Float64Array } {
  const values = new Float64Array(step.length);
  const ofActions = new Float64Array(next.length);
  for (let state = step.length - 1; state >= 0; state--)
    for (let pair = state * actions; pair < (state + 1) * actions; pair++) {
      if (next[pair] === NOT_ALLOWED) continue;
      ofActions[pair] = rewards[pair] + (next[pair] === ENDS ? 0 : values[next[pair]]);
      values[state] += policy[pair] * ofActions[pair];
    }
  return { values, ofActions };
}

/** What an agent did with one thread. */
export interface QueryEpisode {
  /** In the order in which they were asked. */
  readonly asks: readonly { readonly step: number; readonly detector: number }[];
  /** The step of the answer, the detector whose judgement it is, and the step at which that was given. */
  readonly step: number;
  readonly detector: number;
  readonly judgedAt: number;
}

/**
 * The episode of an agent that takes one action in each state.
 * @param act an action that is allowed in the state
 */
export function queryEpisode(mdp: QueryMdp, act: (state: number) => number): QueryEpisode {
  const { detectors, actions, step, askedAt, next } = mdp;
  const asks: { step: number; detector: number }[] = [];
  for (let state = 0; ; ) {
    const action = act(state);
    const following = next[state * actions + action];
    if (following === NOT_ALLOWED) throw new Error(`action ${action} is not allowed in state ${state}`);
    if (following === ENDS) {
      const detector = action - 1 - detectors;
      return { asks, step: step[state], detector, judgedAt: askedAt[state * detectors + detector] };
    }
    if (action !== WAIT) asks.push({ step: step[state], detector: action - 1 });
    state = following;
  }
}
