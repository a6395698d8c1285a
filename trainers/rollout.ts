import { STOP } from '../envs/state-table.ts';
import { lookAhead, type Rollout, rollOut, type StopEnvOptions, type StopEnvState } from '../envs/stop-env.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTable } from '../src/tensor/row-table.ts';
import { logComplement, type PolicyValue, type RowScores, readScores, scored } from './policy-value.ts';

/** What the agent did in one rollout, with the policy's and the value's scores of the states that it visited; [steps] each. */
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
  const observations = states.gatherPadded(reachable);
  const scores = await scored({ parameters: agent.parameters, observations });
  observations.dispose();
  const of = byTableRow(reachable, await readScores(scores, reachable.length), firstRows[lengths.length]);
  const rollout = rollOut(environment, environmentState, {
    steps,
    stopProbability(row) {
      const probability = of.stopProbabilities[row];
      if (Number.isNaN(probability)) throw new Error(`the rollout reached row ${row}, which was not scored`);
      return probability;
    },
    uniform: () => random.uniform(),
  });
  const { rows, actions, nextRow } = rollout;
  const logProbabilities = new Float32Array(steps);
  const values = new Float32Array(steps);
  for (let step = 0; step < steps; step++) {
    logProbabilities[step] = logProbabilityOf(actions[step], of.stopLogProbabilities[rows[step]]);
    values[step] = of.values[rows[step]];
  }
  return { ...rollout, logProbabilities, values, nextValue: of.values[nextRow] };
}

/** Scores at the places of their rows in the table; NaN where a row was not scored. */
function byTableRow(rows: Int32Array, { stopLogProbabilities, values }: RowScores, tableRows: number) {
  const of = {
    stopProbabilities: new Float64Array(tableRows).fill(Number.NaN),
    stopLogProbabilities: new Float32Array(tableRows),
    values: new Float32Array(tableRows),
  };
  for (const [place, row] of rows.entries()) {
    of.stopProbabilities[row] = Math.exp(stopLogProbabilities[place]);
    of.stopLogProbabilities[row] = stopLogProbabilities[place];
    of.values[row] = values[place];
  }
  return of;
}

function logProbabilityOf(action: number, stopLogProbability: number): number {
  return action === STOP ? stopLogProbability : logComplement(stopLogProbability);
}
