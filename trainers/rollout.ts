import { STOP } from '../envs/state-table.ts';
import { lookAhead, type Rollout, rollOut, type StopEnvOptions, type StopEnvState } from '../envs/stop-env.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';
import { logComplement, type PolicyValue, scoresOf } from './policy-value.ts';

/** The actions of the agent in one rollout, with the policy's and the value's scores of the states that it visited; [steps] each. */
export interface Collected extends Rollout {
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  /** Value of the state after the last step. */
  readonly nextValue: number;
}

/**
 * The next steps of the agent. All states that it can reach are scored in one pass.
 * @param options.environmentState moved on
 */
export async function collect(
  agent: PolicyValue,
  options: {
    states: RowTable;
    environment: StopEnvOptions;
    environmentState: StopEnvState;
    steps: number;
    random: Random;
  },
): Promise<Collected> {
  const { states, environment, environmentState, steps, random } = options;
  const { firstRows, lengths } = environment.table;
  const reachable = lookAhead(environment, environmentState, {
    steps,
    shuffle: (length) => random.permutation(length),
  });
  const { stopLogProbabilities, values: ofStates } = await scoresOf(agent, states.takePadded(reachable));
  const placeOf = agent.scratch.array('places of rows', 'int32', firstRows[lengths.length]).fill(-1);
  for (let place = 0; place < reachable.length; place++) placeOf[reachable[place]] = place;
  const rollout = rollOut(environment, environmentState, {
    steps,
    stopProbability(row) {
      // Undefined where the row was not scored.
      const probability = Math.exp(stopLogProbabilities[placeOf[row]]);
      if (Number.isNaN(probability)) throw new Error(`the policy of row ${row} is ${probability}`);
      return probability;
    },
    uniform: () => random.uniform(),
  });
  const { rows, actions, nextRow } = rollout;
  const logProbabilities = new Float32Array(steps);
  const values = new Float32Array(steps);
  for (let step = 0; step < steps; step++) {
    const place = placeOf[rows[step]];
    const logStop = stopLogProbabilities[place];
    logProbabilities[step] = actions[step] === STOP ? logStop : logComplement(logStop);
    values[step] = ofStates[place];
  }
  return { ...rollout, logProbabilities, values, nextValue: ofStates[placeOf[nextRow]] };
}
