import * as tf from '@tensorflow/tfjs-core';
import { parametersOf } from '../src/tensor/adam.ts';
import { descent } from '../src/tensor/descent.ts';
import { compiled } from '../src/tensor/graph/compiled.ts';
import { type MlpName, rowProducts, type Shapes, sumRows, type Tensors } from '../src/tensor/operations.ts';
import type { Random } from '../src/tensor/random.ts';
import { gathered, type RowTable, type TakenRows } from '../src/tensor/row-table.ts';
import type { DqnConfig } from './config.ts';
import { networkOutputs, type PolicyValue } from './policy-value.ts';

/*
 * Deep Q-learning of when to stop: the checkpoint module of ERD (Zhou et al., "Early Rumour Detection", NAACL 2019). The paper's text was
 * not at hand; it is compared with the authors' code (https://github.com/DeepBrainAI/ERD).
 *
 *   symbol    the authors' code                                here
 *   s         a GRU over the posts, trained in turns with Q    a row of the state table; the detector stays as it is
 *   Q(s, a)   a layer of 64 units (ReLU)                       the policy's network: two layers (tanh), and no dropout
 *   r         right stop 1 + ρ ln M, wrong stop −P, wait −ε    the same; ρ 0.2, P 100, ε 0.01
 *   M         right stops so far, from 0 (ln 0 fails)          from 1
 *   y         wait: r + γ max Q of the state that is left,     wait: r + γ V of the state that follows, by the network at the
 *             as it was when the step was taken                beginning of the iteration (Bellman); stop: r
 *   V         max over both actions                            the same, but at the last post, where only a stop is left
 *   ε-greedy  one step in a hundred at random                  the same
 *   memory    80,000 steps, minibatches of 50                  the same
 *   schedule  an update after 50 steps, the first 50,000       an update for each 50 steps, from the first iteration on
 *             steps without any
 *
 * All states are known, so what the target network would say of each is a table.
 */

/** Remembered steps; every array is [capacity], of which the first `size` are filled. */
export interface ReplayMemory {
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
  readonly rewards: Float32Array;
  /** Row of the state that follows; −1 after a stop. */
  readonly nextRows: Int32Array;
  size: number;
  /** Where the next step is written. */
  position: number;
}

export function emptyMemory(capacity: number): ReplayMemory {
  const integers = () => new Int32Array(capacity);
  const [rows, nextRows] = [integers(), integers()];
  const [actions, rewards] = [new Uint8Array(capacity), new Float32Array(capacity)];
  return { rows, actions, rewards, nextRows, size: 0, position: 0 };
}

export function remember(
  memory: ReplayMemory,
  step: { row: number; action: number; reward: number; nextRow: number },
): void {
  const { position, rows } = memory;
  memory.rows[position] = step.row;
  memory.actions[position] = step.action;
  memory.rewards[position] = step.reward;
  memory.nextRows[position] = step.nextRow;
  memory.size = Math.max(memory.size, position + 1);
  memory.position = (position + 1) % rows.length;
}

/** The reward of a stop. @param options.rightStops M: right stops so far, this one included */
export function stopReward(config: DqnConfig, options: { isRight: boolean; rightStops: number }): number {
  return options.isRight ? 1 + config.rightGrowth * Math.log(options.rightStops) : -config.wrongCost;
}

/** y of remembered steps, [steps]. @param options.values V of each row of the table */
export function bellmanTargets(
  { rewards, nextRows }: Pick<ReplayMemory, 'rewards' | 'nextRows'>,
  { steps, values, discount }: { steps: Int32Array; values: Float32Array; discount: number },
): Float32Array {
  return Float32Array.from(
    steps,
    (step) => rewards[step] + (nextRows[step] < 0 ? 0 : discount * values[nextRows[step]]),
  );
}

/** Q of both actions, CONTINUE then STOP: [rows, 2]. */
export const actionValues = compiled(
  ({ moving, observations }: { moving: tf.Tensor2D; observations: TakenRows }, shapes: Shapes<MlpName>) => ({
    values: networkOutputs(parametersOf({ moving, shapes }), gathered(observations)),
  }),
  { reads: ['values'] },
);

/** A minibatch; [rows, inputs], [rows, 2] and [rows, 1]. */
export type QMinibatch = {
  readonly observations: tf.Tensor2D;
  /** 1 at the action that was taken. */
  readonly taken: tf.Tensor2D;
  readonly targets: tf.Tensor2D;
};

/** The mean of (y − Q(s, a))², [1, 1]. */
export function qLoss(parameters: Tensors<MlpName>, { observations, taken, targets }: QMinibatch): tf.Tensor2D {
  const ofTaken = rowProducts(networkOutputs(parameters, observations), taken);
  return tf.mul(sumRows(tf.squaredDifference(ofTaken, targets)), 1 / targets.shape[0]);
}

const descendQ = descent(
  (parameters: Tensors<MlpName>, batch: QMinibatch) => {
    const loss = qLoss(parameters, batch);
    return { loss, outputs: { loss } };
  },
  () => ({}),
);

/**
 * One iteration's updates on remembered steps. Returns the mean loss before them.
 * @param options.values V of each row of the table
 */
export async function updateQ(
  network: PolicyValue,
  memory: ReplayMemory,
  options: { states: RowTable; values: Float32Array; config: DqnConfig; random: Random },
): Promise<number> {
  const { states, values, config, random } = options;
  const { updates, batchSize, discount, learningRate } = config;
  const steps = Int32Array.from({ length: updates * batchSize }, () => random.integer(memory.size));
  const taken = new Float32Array(steps.length * 2);
  for (const [place, step] of steps.entries()) taken[place * 2 + memory.actions[step]] = 1;
  const { outputs } = await descendQ(network, {
    count: updates,
    batches: {
      observations: { states, rows: steps.map((step) => memory.rows[step]) },
      taken: { numbers: taken, width: 2 },
      targets: { numbers: bellmanTargets(memory, { steps, values, discount }), width: 1 },
    },
    shared: {},
    adam: { learningRate, epsilon: 1e-8 },
  });
  return outputs.loss.reduce((sum, loss) => sum + loss, 0) / updates;
}
