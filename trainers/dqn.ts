import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { type MlpName, sumRows, type Tensors } from '../src/tensor/batched-ops.ts';
import { descent } from '../src/tensor/descent.ts';
import { compiled } from '../src/tensor/onnx/compiled.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTables } from '../src/tensor/row-tables.ts';
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

/** Options of the algorithm `dqn`. */
export const dqnSchema = z.strictObject({
  stepsPerIteration: z.int().min(1).default(200).describe('steps on labelled threads in each iteration'),
  updates: z.int().min(1).default(4).describe('minibatch updates in each iteration'),
  batchSize: z.int().min(1).default(50).describe('remembered steps in a minibatch'),
  memory: z.int().min(1).default(80_000).describe('steps that are remembered; the oldest are forgotten'),
  exploration: z.number().min(0).max(1).default(0.01).describe('share of the steps whose action is drawn by chance'),
  discount: z.number().min(0).max(1).default(0.99).describe('γ: what a reward one step later is worth'),
  rightGrowth: z
    .number()
    .min(0)
    .default(0.2)
    .describe('ρ: the M-th stop at which the detector is right earns 1 + ρ ln M'),
  wrongCost: z.number().min(0).default(100).describe('P: subtracted for a stop at which the detector is wrong'),
  waitCost: z.number().min(0).default(0.01).describe('ε: subtracted for each step of waiting'),
  learningRate: z.number().positive().default(1e-3).describe('of Adam'),
});
export type DqnConfig = z.infer<typeof dqnSchema>;

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

/** What a stop earns. @param options.rightStops M: right stops so far, this one included */
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

/** Q of both actions, CONTINUE then STOP: [members, rows, 2]. */
export const actionValues = compiled(
  ({ parameters, observations }: { parameters: Tensors<MlpName>; observations: tf.Tensor3D }) =>
    networkOutputs(parameters, observations),
);

/** A minibatch of each member; [members, rows, inputs], [members, rows, 2] and [members, rows, 1]. */
export interface QMinibatch {
  readonly observations: tf.Tensor3D;
  /** 1 at the action that was taken. */
  readonly taken: tf.Tensor3D;
  readonly targets: tf.Tensor3D;
}

/** The mean of (y − Q(s, a))² of each member, [members, 1, 1]. */
export function qLoss(parameters: Tensors<MlpName>, { observations, taken, targets }: QMinibatch): tf.Tensor3D {
  const ofTaken = tf.sum<tf.Tensor3D>(tf.mul(networkOutputs(parameters, observations), taken), 2, true);
  return tf.mul(sumRows(tf.squaredDifference(ofTaken, targets)), 1 / targets.shape[1]);
}

const descendQ = descent<MlpName, QMinibatch, object, { loss: tf.Tensor3D }, null>(
  (parameters, batch) => {
    const loss = qLoss(parameters, batch);
    return { loss, seen: { loss } };
  },
  () => null,
);

/** What one member learns from in an update. */
export interface QMember {
  readonly config: DqnConfig;
  readonly random: Random;
  readonly memory: ReplayMemory;
  /** V of each row of the member's table. */
  readonly values: Float32Array;
}

/** One iteration's updates on remembered steps. Returns each member's mean loss before them. */
export async function updateQ(
  network: PolicyValue,
  members: readonly QMember[],
  { states }: { states: RowTables },
): Promise<number[]> {
  const { updates, batchSize } = members[0].config;
  const draw = (): QMinibatch => {
    const drawn = members.map(({ random, memory }) =>
      Int32Array.from({ length: batchSize }, () => random.integer(memory.size)),
    );
    const shape = (columns: number): [number, number, number] => [members.length, batchSize, columns];
    const taken = new Float32Array(members.length * batchSize * 2);
    const targets = new Float32Array(members.length * batchSize);
    for (const [member, { config, memory, values }] of members.entries()) {
      const start = member * batchSize;
      targets.set(bellmanTargets(memory, { steps: drawn[member], values, discount: config.discount }), start);
      for (const [i, step] of drawn[member].entries()) taken[(start + i) * 2 + memory.actions[step]] = 1;
    }
    return {
      observations: states.gather(drawn.map((steps, member) => steps.map((step) => members[member].memory.rows[step]))),
      taken: tf.tensor3d(taken, shape(2)),
      targets: tf.tensor3d(targets, shape(1)),
    };
  };
  const { seen } = await descendQ(network, {
    batches: Array.from({ length: updates }, () => draw),
    shared: {},
    adam: { learningRates: members.map(({ config }) => config.learningRate), epsilon: 1e-8 },
  });
  const sums = members.map(() => 0);
  for (const { loss } of seen) {
    const values = await loss.data();
    for (const [member, value] of values.entries()) sums[member] += value;
    loss.dispose();
  }
  return sums.map((sum) => sum / updates);
}
