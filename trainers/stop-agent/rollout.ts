import * as tf from '@tensorflow/tfjs-core';
import { STOP } from '../../envs/state-table.ts';
import { lookAhead, type Rollout, rollOut, type StopEnvOptions, type StopEnvState } from '../../envs/stop-env.ts';
import type { Random } from '../../src/tensor/random.ts';
import { logComplement, policyValueForward } from '../policy-value.ts';
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

/** K steps of each member (EARD Algorithm 1, lines 2 and 4): all reachable states are scored in one pass. */
export async function collect(
  learner: StopLearner,
  members: readonly Roaming[],
  { steps }: { steps: number },
): Promise<Collected[]> {
  const reachable = members.map(({ environment, environmentState, random }) =>
    lookAhead(environment, environmentState, { steps, shuffle: (length) => random.permutation(length) }),
  );
  const scored = await scoreRows(learner, reachable);
  return members.map((member, index) => {
    const of = scoresByRow(reachable[index], scored[index]);
    const rollout = rollOut(member.environment, member.environmentState, {
      steps,
      stopProbability: (row) => Math.exp(of.stopLogProbability(row)),
      uniform: () => member.random.uniform(),
    });
    return {
      ...rollout,
      logProbabilities: Float32Array.from(rollout.rows, (row, step) =>
        logProbabilityOf(rollout.actions[step], of.stopLogProbability(row)),
      ),
      values: Float32Array.from(rollout.rows, of.value),
      nextValue: of.value(rollout.nextRow),
    };
  });
}

/** The same steps, with what the policy and the value say of them now. */
export async function scoredAgain(learner: StopLearner, collected: readonly Collected[]): Promise<Collected[]> {
  const scored = await scoreRows(
    learner,
    collected.map(({ rows, nextRow }) => Int32Array.of(...rows, nextRow)),
  );
  return collected.map((own, member) => {
    const { stopLogProbabilities, values } = scored[member];
    const steps = own.rows.length;
    return {
      ...own,
      logProbabilities: Float32Array.from(own.actions, (action, step) =>
        logProbabilityOf(action, stopLogProbabilities[step]),
      ),
      values: values.subarray(0, steps),
      nextValue: values[steps],
    };
  });
}

/** log π(stop) and V of rows, [rows] each. */
export interface RowScores {
  readonly stopLogProbabilities: Float32Array;
  readonly values: Float32Array;
}

/** Scores of each member's rows. Members with fewer rows than others are padded for the pass. */
export async function scoreRows(learner: StopLearner, rows: readonly Int32Array[]): Promise<RowScores[]> {
  const most = Math.max(...rows.map((own) => own.length));
  const padded = rows.map((own) => {
    if (own.length === most) return own;
    const filled = new Int32Array(most);
    filled.set(own);
    return filled;
  });
  const observations = learner.states.gather(padded);
  const [stop, value] = tf.tidy(() => {
    const { logProbabilities, values } = policyValueForward(learner.agent.parameters, observations);
    return [tf.slice(logProbabilities, [0, 0, 1], [rows.length, most, 1]), values];
  });
  const [stops, values] = await Promise.all([stop.data<'float32'>(), value.data<'float32'>()]);
  tf.dispose([observations, stop, value]);
  return rows.map(({ length }, member) => ({
    stopLogProbabilities: stops.subarray(member * most, member * most + length),
    values: values.subarray(member * most, member * most + length),
  }));
}

/** Scores by table row. */
function scoresByRow(rows: Int32Array, { stopLogProbabilities, values }: RowScores) {
  const places = new Map(Array.from(rows, (row, place) => [row, place]));
  const placeOf = (row: number) => {
    const place = places.get(row);
    if (place === undefined)
      throw new Error(`the rollout reached row ${row}, which is not among the ${rows.length} rows that were scored`);
    return place;
  };
  return {
    stopLogProbability: (row: number) => stopLogProbabilities[placeOf(row)],
    value: (row: number) => values[placeOf(row)],
  };
}

function logProbabilityOf(action: number, stopLogProbability: number): number {
  return action === STOP ? stopLogProbability : logComplement(stopLogProbability);
}
