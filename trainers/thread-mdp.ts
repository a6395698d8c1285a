import { CONTINUE, STOP } from '../envs/state-table.ts';

/*
 * A thread under a stopping policy is a known MDP: one state at its first post and, where the episode goes on
 * after a stop, two at every later one, by the action before. Transitions are deterministic, so all expectations over
 * rollouts are one forward pass (where the agent gets to) and one backward pass (what comes of it).
 */

/** The MDPs of some threads. Their states are numbered one thread after the other, each as its rows in a state table. */
export interface ThreadMdps {
  /** Steps of each thread's episode if it is not stopped, at least 1. */
  readonly steps: readonly number[];
  /** Whether an episode goes on after a stop, with the stop in its state; else there is one state a step. */
  readonly goesOn: boolean;
}

/** How many states a thread has: 2 · steps − 1 or steps. */
export function threadStates(steps: number, goesOn: boolean): number {
  return goesOn ? 2 * steps - 1 : steps;
}

/** Each thread with its states, of which the first is that of step 0; the states of a step are the ones from its CONTINUE to its STOP. */
export function* threadsOf({ steps, goesOn }: ThreadMdps) {
  let end = 0;
  for (const own of steps) {
    const first = end;
    end += threadStates(own, goesOn);
    const stateOf = (step: number, previous: number) =>
      first + (!goesOn || step === 0 ? step : 2 * step - 1 + previous);
    yield { steps: own, first, end, stateOf };
  }
}

/** π(stop | s) where a stop is final: 1 in every state after one; [states]. */
export function withFinalStops(mdps: ThreadMdps, stopProbability: Float64Array): Float64Array {
  const final = stopProbability.slice();
  if (!mdps.goesOn) return final;
  for (const { steps, stateOf } of threadsOf(mdps))
    for (let step = 1; step < steps; step++) final[stateOf(step, STOP)] = 1;
  return final;
}

/**
 * The forward pass: how likely each state is visited in an episode on its thread, [states]. From state s at step t,
 * d(s_{t+1}, a) = Σ_s d(s) π(a | s).
 * @param stopProbability π(stop | s), [states]
 */
export function visitProbabilities(mdps: ThreadMdps, stopProbability: Float64Array): Float64Array {
  const visits = new Float64Array(stopProbability.length);
  for (const { steps, stateOf } of threadsOf(mdps)) {
    visits[stateOf(0, CONTINUE)] = 1;
    for (let step = 0; step < steps - 1; step++) {
      const [afterContinue, afterStop] = [stateOf(step + 1, CONTINUE), stateOf(step + 1, STOP)];
      for (let state = stateOf(step, CONTINUE); state <= stateOf(step, STOP); state++) {
        visits[afterContinue] += visits[state] * (1 - stopProbability[state]);
        if (mdps.goesOn) visits[afterStop] += visits[state] * stopProbability[state];
      }
    }
  }
  return visits;
}

/** What is to come from each state, [states] each. */
interface ActionValues {
  /** V(s), and Q(s, a) of either action. */
  readonly values: Float64Array;
  readonly ofStopping: Float64Array;
  readonly ofContinuing: Float64Array;
}

/**
 * The backward pass: Q(s, a) = r(s, a) + discount · V(next), V(s) = Σ_a π(a | s) Q(s, a).
 * @param options.rewards r(s, CONTINUE) and r(s, STOP) of each state in turn, [states, 2]
 */
export function actionValues(
  mdps: ThreadMdps,
  options: { stopProbability: Float64Array; rewards: Float32Array | Float64Array; discount: number },
): ActionValues {
  const { stopProbability, rewards, discount } = options;
  const [values, ofStopping, ofContinuing] = [0, 1, 2].map(() => new Float64Array(stopProbability.length));
  for (const { steps, stateOf } of threadsOf(mdps))
    for (let step = steps - 1; step >= 0; step--) {
      const isLast = step === steps - 1;
      const afterContinue = isLast ? 0 : discount * values[stateOf(step + 1, CONTINUE)];
      const afterStop = isLast || !mdps.goesOn ? 0 : discount * values[stateOf(step + 1, STOP)];
      for (let state = stateOf(step, CONTINUE); state <= stateOf(step, STOP); state++) {
        const p = stopProbability[state];
        ofStopping[state] = rewards[2 * state + 1] + afterStop;
        ofContinuing[state] = rewards[2 * state] + afterContinue;
        values[state] = p * ofStopping[state] + (1 - p) * ofContinuing[state];
      }
    }
  return { values, ofStopping, ofContinuing };
}
