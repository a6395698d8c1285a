import { STOP } from '../../envs/state-table.ts';
import { lookAhead, type Rollout, rollOut, type StopEnvOptions, type StopEnvState } from '../../envs/stop-env.ts';
import type { Random } from '../../src/tensor/random.ts';
import { logComplement, type RowScores, readScores, scored } from '../policy-value.ts';
import type { StopLearner } from './setup.ts';

/** Where one member roams. */
export interface Roaming {
  readonly environment: StopEnvOptions;
  /** Moved on by every rollout. */
  readonly environmentState: StopEnvState;
  readonly random: Random;
}

/** What one member did in one rollout, with what its policy and value said of the states it visited; [steps] each. */
export interface Collected extends Rollout {
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  /** Value of the state after the last step. */
  readonly nextValue: number;
}

/** The same with what each step earned, [steps] each. */
export interface EstimatedSteps extends Collected {
  /** The discriminators' logits, high for experts, and the rewards made of them, scaled. */
  readonly logits: Float32Array;
  readonly rewards: Float32Array;
  readonly advantages: Float32Array;
  readonly returns: Float32Array;
}

/** K steps of each member (EARD Algorithm 1, lines 2 and 4): all reachable states are scored in one pass. */
export async function collect(
  learner: StopLearner,
  members: readonly Roaming[],
  { steps }: { steps: number },
): Promise<Collected[]> {
  const reachable = members.map(({ environment, environmentState, random }) =>
    lookAhead(environment, environmentState, { steps, shuffle: (length) => random.permutation(length) }),
  );
  const observations = learner.states.gatherPadded(reachable);
  const scores = scored({ parameters: learner.agent.parameters, observations });
  observations.dispose();
  const scoresOfRows = await readScores(
    scores,
    reachable.map(({ length }) => length),
  );
  return members.map((member, index) => {
    const { environment, environmentState, random } = member;
    const { firstRows, lengths } = environment.table;
    const of = byTableRow(reachable[index], scoresOfRows[index], firstRows[lengths.length]);
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
  });
}

/** Scores at the places of their rows in the table; NaN where a row was not scored. */
function byTableRow(rows: Int32Array, { stopLogProbabilities, values }: RowScores, tableRows: number) {
  const of = {
    stopProbabilities: new Float64Array(tableRows).fill(Number.NaN),
    stopLogProbabilities: new Float32Array(tableRows),
    values: new Float32Array(tableRows),
  };
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place];
    of.stopProbabilities[row] = Math.exp(stopLogProbabilities[place]);
    of.stopLogProbabilities[row] = stopLogProbabilities[place];
    of.values[row] = values[place];
  }
  return of;
}

function logProbabilityOf(action: number, stopLogProbability: number): number {
  return action === STOP ? stopLogProbability : logComplement(stopLogProbability);
}
