import { CONTINUE, STOP } from '../envs/state-table.ts';

/*
 * A thread under a stopping policy is a known MDP: one state at its first post and, where the episode goes on
 * after a stop, two at every later one, by the action before. Transitions are deterministic, so all expectations over
 * rollouts are one forward pass (where the agent gets to) and one backward pass (what comes of it).
 */

/** One thread's MDP. Its states are numbered as the thread's rows in a state table. */
export interface ThreadMdp {
  /** Steps of an episode that is not stopped, at least 1. */
  readonly steps: number;
  /** Whether an episode goes on after a stop, with the stop in its state; else there is one state a step. */
  readonly goesOn: boolean;
}

/** How many states the MDP has: 2 · steps − 1 or steps. */
export function threadStates({ steps, goesOn }: ThreadMdp): number {
  return goesOn ? 2 * steps - 1 : steps;
}

function stateOf({ goesOn }: ThreadMdp, step: number, previous: number): number {
  return !goesOn || step === 0 ? step : 2 * step - 1 + previous;
}

/** π(stop | s) of a thread where a stop is final: 1 in every state after one; [states]. */
export function withFinalStops(mdp: ThreadMdp, stopProbability: Float64Array): Float64Array {
  const final = stopProbability.slice();
  if (mdp.goesOn) for (let step = 1; step < mdp.steps; step++) final[stateOf(mdp, step, STOP)] = 1;
  return final;
}

/** The states of a step are the ones from its CONTINUE state to this. */
function lastStateOf(mdp: ThreadMdp, step: number): number {
  return stateOf(mdp, step, STOP);
}

/**
 * The forward pass: how likely each state is visited in an episode, [states]. From state s at step t,
 * d(s_{t+1}, a) = Σ_s d(s) π(a | s).
 * @param stopProbability π(stop | s), [states]
 */
export function visitProbabilities(mdp: ThreadMdp, stopProbability: ArrayLike<number>): Float64Array {
  const visits = new Float64Array(threadStates(mdp));
  visits[0] = 1;
  for (let step = 0; step < mdp.steps - 1; step++) {
    const [afterContinue, afterStop] = [stateOf(mdp, step + 1, CONTINUE), stateOf(mdp, step + 1, STOP)];
    for (let state = stateOf(mdp, step, CONTINUE); state <= lastStateOf(mdp, step); state++) {
      visits[afterContinue] += visits[state] * (1 - stopProbability[state]);
      if (mdp.goesOn) visits[afterStop] += visits[state] * stopProbability[state];
    }
  }
  return visits;
}

/** What is to come from each state, [states] each. */
export interface ActionValues {
  /** V(s), and Q(s, a) of either action. */
  readonly values: Float64Array;
  readonly ofStopping: Float64Array;
  readonly ofContinuing: Float64Array;
}

/**
 * The backward pass: Q(s, a) = r(s, a) + discount · V(next), V(s) = Σ_a π(a | s) Q(s, a).
 * @param options.stopRewards r(s, stop), [states]; `continueRewards` likewise
 */
export function actionValues(
  mdp: ThreadMdp,
  options: {
    stopProbability: ArrayLike<number>;
    stopRewards: ArrayLike<number>;
    continueRewards: ArrayLike<number>;
    discount: number;
  },
): ActionValues {
  const { stopProbability, stopRewards, continueRewards, discount } = options;
  const states = threadStates(mdp);
  const values = new Float64Array(states);
  const ofStopping = new Float64Array(states);
  const ofContinuing = new Float64Array(states);
  for (let step = mdp.steps - 1; step >= 0; step--) {
    const isLast = step === mdp.steps - 1;
    const afterContinue = isLast ? 0 : discount * values[stateOf(mdp, step + 1, CONTINUE)];
    const afterStop = isLast || !mdp.goesOn ? 0 : discount * values[stateOf(mdp, step + 1, STOP)];
    for (let state = stateOf(mdp, step, CONTINUE); state <= lastStateOf(mdp, step); state++) {
      const p = stopProbability[state];
      ofStopping[state] = stopRewards[state] + afterStop;
      ofContinuing[state] = continueRewards[state] + afterContinue;
      values[state] = p * ofStopping[state] + (1 - p) * ofContinuing[state];
    }
  }
  return { values, ofStopping, ofContinuing };
}
